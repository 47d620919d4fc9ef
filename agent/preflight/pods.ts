import type { Cidr } from "../../api/cidr.ts";
import { isPlain, type RouteFact } from "./route.ts";
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

/**
 * Whether the node would bring a pod's call as far as the guard, which stands behind routing: what is addressed to
 * nobody's ClusterSetIP is not DNATed, so it needs a route, and forwarding. PURE.
 */
export function leadsToGuard(route: RouteFact | undefined, forwarding: Verdict): boolean {
  return isPlain(route) && forwarding.state !== "failing";
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
  cilium: "Cilium may route in eBPF: set bpf.hostLegacyRouting=true in its Helm values.",
  calico:
    "Calico may run its eBPF dataplane: set linuxDataplane to Iptables or Nftables in its Installation.",
};
const UNKNOWN_MEND =
  "Their packets may pass netfilter by (eBPF host routing, macvlan, ipvlan), or a NetworkPolicy drops them first.";

/** Whether what pods send meets our rules. `attempts`: oldest first. PURE. */
export function judgePods(
  cidr: Cidr,
  links: LinkFact | undefined,
  attempts: readonly Attempt[],
): Verdict {
  const place = { check: "pods", family: cidr.family } as const;
  if (links === undefined) {
    return unknown(place, "Links could not be listed: is the program ip (iproute2) installed?");
  }
  const recent = latest(attempts).slice(0, ENOUGH);
  if (recent.some(({ result }) => result === "met")) return well(place);
  const { plugin, namespaces } = links;
  // With a plugin that is known for it, all there are must do.
  const enough = plugin === undefined ? ENOUGH : Math.min(ENOUGH, namespaces.length || 1);
  if (recent.length < enough) {
    const advice = untold(namespaces.length, recent.length);
    if (plugin === undefined) return unknown(place, advice);
    return { ...unknown(place, `${MENDS[plugin]} ${advice}`), reason: "bypass-suspected" };
  }
  const names = recent.map(({ namespace }) => namespace).join(", ");
  const mend =
    plugin === undefined
      ? UNKNOWN_MEND
      : `${MENDS[plugin]} If it is set, a network policy drops what these pods send to ${cidr.text}.`;
  const advice = `Of the last ${recent.length} pods that called a ClusterSetIP none met our rules, which refuse that call at once (${names}). ${mend}`;
  return failing(place, "pods-bypass", advice);
}

/** Why nothing can be said yet of so many pods. */
function untold(pods: number, tried: number): string {
  if (pods === 0) {
    return "No pod's network namespace is to be seen; in a container, mount the host's /run/netns (HostToContainer).";
  }
  if (tried > 0) return `Pods that were tried: ${tried}; none has met our rules yet.`;
  return "No pod could be tried yet: that takes our guard in the kernel, a route, forwarding, and the right to enter network namespaces (nsenter, CAP_SYS_ADMIN).";
}

/** The last attempt of each namespace that told something, newest first. */
function latest(attempts: readonly Attempt[]): Attempt[] {
  const clear = attempts.filter(({ result }) => result !== "unclear").toReversed();
  const seen = new Set<string>();
  return clear.filter(({ namespace }) => !seen.has(namespace) && seen.add(namespace));
}
