import type { Cidr } from "../../api/cidr.ts";
import type { Outcome } from "./sight.ts";
import { failing, unknown, type Verdict, well } from "./verdict.ts";

/** A network plugin that can carry packets past netfilter. */
export type Plugin = "cilium" | "calico";

/** What the node's links tell. */
export interface LinkFact {
  /** Names of the network namespaces at the other end of a link: pods', and perhaps the next switch of a lab. */
  readonly namespaces: readonly string[];
  /** A plugin whose links are there that may bypass netfilter. */
  readonly plugin?: Plugin;
}

/** One attempt to reach a ClusterSetIP out of one pod's namespace. */
export interface Attempt {
  readonly namespace: string;
  /**
   * `met`: our guard refused it. `unmet`: silence, or a word from elsewhere. `unclear`: it tells nothing, because
   * the pod has no route of this family, or something inside the pod took the connection.
   */
  readonly result: "met" | "unmet" | "unclear";
}

/**
 * Lists the links of the node, a line each, and names the namespace at the other end where /run/netns has it. Not
 * with -j: what is printed as JSON has a number there (iproute2 6.1).
 */
export const LINK_QUERY: [string, ...string[]] = ["ip", "-o", "link", "show"];

/** Links that exist only where a plugin handles packets in eBPF; legacy Calico has `cali…` alone. */
const SIGNS: readonly (readonly [RegExp, Plugin])[] = [
  [/^cilium_(host|net)$/, "cilium"],
  [/^bpf(in|out)\.cali$|^bpfnat/, "calico"],
];

/**
 * What `LINK_QUERY` said. `uplinks`: devices that lead away from the node; what is at their other end is no
 * pod. Undefined if links could not be listed. PURE.
 */
export function parseLinks(
  { status, stdout }: Outcome,
  uplinks: ReadonlySet<string>,
): LinkFact | undefined {
  if (status !== 0) return undefined;
  const namespaces = new Set<string>();
  let plugin: Plugin | undefined;
  for (const line of stdout.split("\n")) {
    const [, device] = /^\d+: ([^:@\s]+)/.exec(line) ?? [];
    if (device === undefined) continue;
    plugin ??= SIGNS.find(([sign]) => sign.test(device))?.[1];
    // A name that ends up in a path: those that CNI and container runtimes give hold nothing else.
    const [, namespace] = / link-netns ([A-Za-z0-9][\w.-]*)(?:\s|$)/.exec(line) ?? [];
    if (namespace !== undefined && !uplinks.has(device)) namespaces.add(namespace);
  }
  return { namespaces: [...namespaces].sort(), ...(plugin !== undefined && { plugin }) };
}

/**
 * Whose turn it is; undefined if nothing needs to be tried: it was seen to work once, and no plugin is there that
 * could have changed that since. Namespaces take turns, the one that was tried least recently first. PURE.
 */
export function nextNamespace(links: LinkFact, attempts: readonly Attempt[]): string | undefined {
  const proven = attempts.some(({ result }) => result === "met");
  if (proven && links.plugin === undefined) return undefined;
  const last = new Map(attempts.map(({ namespace }, at) => [namespace, at]));
  const ages = links.namespaces.map((name) => [name, last.get(name) ?? -1] as const);
  return ages.reduce<(typeof ages)[number] | undefined>(
    (oldest, one) => (oldest === undefined || one[1] < oldest[1] ? one : oldest),
    undefined,
  )?.[0];
}

/** Runs `argv` inside a pod's network, and nothing else of the pod: its files and users stay out of it. */
export function inNamespace(name: string, argv: readonly string[]): [string, ...string[]] {
  return ["nsenter", `--net=/var/run/netns/${name}`, "--", ...argv];
}

/**
 * What the program that knocked at a ClusterSetIP said. It knocks at port 0, which no ServicePort can have, so that no
 * import's endpoint is ever called, whichever addresses are taken: a port that nobody exposes is refused by our
 * guard, on every address of the range. PURE.
 */
export function parseKnock({ status, stdout }: Outcome): Attempt["result"] {
  if (status !== 0) return "unclear";
  const word = stdout.trim();
  if (word === "ECONNREFUSED") return "met";
  return ["silence", "EHOSTUNREACH", "ENETUNREACH"].includes(word) ? "unmet" : "unclear";
}

/** Different pods that must have gone unanswered: one alone may be kept from calling by a NetworkPolicy. */
const ENOUGH = 3;
/** Attempts that are remembered. */
export const REMEMBERED = 64;

const MENDS: Readonly<Record<Plugin, string>> = {
  cilium: "Cilium routes in eBPF: set bpf.hostLegacyRouting=true in its Helm values.",
  calico:
    "Calico runs its eBPF dataplane: set linuxDataplane to Iptables or Nftables in its Installation.",
};

/** Whether what pods send meets our rules. `attempts`: oldest first. PURE. */
export function judgePods(
  cidr: Cidr,
  links: LinkFact | undefined,
  attempts: readonly Attempt[],
): Verdict {
  const place = { check: "pods", family: cidr.family } as const;
  if (links === undefined)
    return unknown(place, "Links could not be listed: is the program ip (iproute2) installed?");
  const recent = latest(attempts).slice(0, ENOUGH);
  if (recent.some(({ result }) => result === "met")) return well(place);
  const wanted = Math.min(ENOUGH, Math.max(1, links.namespaces.length));
  if (recent.length < wanted) {
    const advice =
      links.namespaces.length === 0
        ? "No pod's network namespace is to be seen: mount the host's /run/netns (HostToContainer) to have it tested that pods meet our rules."
        : `${recent.length} of ${wanted} pods tried, none has met our rules yet.`;
    return unknown(place, advice);
  }
  const names = recent.map(({ namespace }) => namespace).join(", ");
  const mend =
    links.plugin === undefined
      ? "Their packets pass by netfilter (eBPF host routing, macvlan, ipvlan), or a NetworkPolicy or another rule drops them first."
      : `${MENDS[links.plugin]} If it is set, a network policy drops what these pods send to ${cidr.text}.`;
  const advice = `Of the last ${recent.length} pods that called a ClusterSetIP, none met our rules (${names}): it would be refused at once. ${mend}`;
  return failing(place, "pods-bypass", advice);
}

/** The last attempt of each namespace that told something, newest first. */
function latest(attempts: readonly Attempt[]): Attempt[] {
  const clear = attempts.filter(({ result }) => result !== "unclear").toReversed();
  const seen = new Set<string>();
  return clear.filter(({ namespace }) => !seen.has(namespace) && seen.add(namespace));
}
