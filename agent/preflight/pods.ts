import type { Cidr } from "../../api/cidr.ts";
import { counted } from "../../api/count.ts";
import type { ProgramResult } from "../system/program-result.ts";
import { type Finding, failing, ok, unknown } from "./finding.ts";
import { isPlain, type RouteFact } from "./route.ts";

/** A network plugin that can bypass netfilter. */
export type Plugin = "cilium" | "calico";

/** What the node's links show. */
export interface LinkFact {
  /** Names of network namespaces at the other end of a link: those of pods, perhaps others. */
  readonly namespaces: readonly string[];
  /** Names of devices, such as bridges, to which such links belong. */
  readonly masters: readonly string[];
  /** A plugin that may bypass netfilter, by the names of its links. */
  readonly plugin?: Plugin;
}

/** One probe of a ClusterSetIP from a pod's network namespace. */
export interface Probe {
  readonly namespace: string;
  /**
   * `rejected`: by our guard. `bypassed`: no answer, or an error from another host. `inconclusive`: the pod has no route of
   * this family, or something in the pod took the connection.
   */
  readonly result: "rejected" | "bypassed" | "inconclusive";
}

/** Lists links with the namespace at the other end. Not with -j: JSON has its number, not its name (iproute2 6.1). */
export const LINK_QUERY: [string, ...string[]] = ["ip", "-o", "link", "show"];

/** Links that exist only where a plugin handles packets in eBPF; Calico without eBPF has `cali…` alone. */
const PLUGIN_LINKS: readonly (readonly [RegExp, Plugin])[] = [
  [/^cilium_(host|net)$/, "cilium"],
  [/^bpf(in|out)\.cali$|^bpfnat/, "calico"],
];

/** Parses the result of `LINK_QUERY`; undefined if it failed. `uplinks`: devices at whose other end is no pod. */
export function parseLinks(
  { status, stdout }: ProgramResult,
  uplinks: ReadonlySet<string>,
): LinkFact | undefined {
  if (status !== 0) return undefined;
  const namespaces = new Set<string>();
  const masters = new Set<string>();
  let plugin: Plugin | undefined;
  for (const line of stdout.split("\n")) {
    const [, device] = /^\d+: ([^:@\s]+)/.exec(line) ?? [];
    if (device === undefined) continue;
    plugin ??= PLUGIN_LINKS.find(([name]) => name.test(device))?.[1];
    const [, master] = /^\d+: [^:@\s]+@if\d+: .* master (\S+)/.exec(line) ?? [];
    if (master !== undefined) masters.add(master);
    // The name becomes part of a path, so only the characters that CNI and container runtimes use are accepted.
    const [, namespace] = / link-netns ([A-Za-z0-9][\w.-]*)(?:\s|$)/.exec(line) ?? [];
    if (namespace !== undefined && !uplinks.has(device)) namespaces.add(namespace);
  }
  const lists = { namespaces: [...namespaces].sort(), masters: [...masters].sort() };
  return { ...lists, ...(plugin !== undefined && { plugin }) };
}

/**
 * The namespace to probe next: the one that was probed least recently. Undefined if no probe is needed, because one was
 * rejected before and there is no plugin whose settings could change that.
 */
export function nextNamespace(links: LinkFact, probes: readonly Probe[]): string | undefined {
  const proven = probes.some(({ result }) => result === "rejected");
  if (proven && links.plugin === undefined) return undefined;
  const last = new Map(probes.map(({ namespace }, at) => [namespace, at]));
  const ages = links.namespaces.map((name) => [name, last.get(name) ?? -1] as const);
  return ages.toSorted(([, a], [, b]) => a - b)[0]?.[0];
}

/** Whether a pod's packet to an unused ClusterSetIP reaches the guard: it is not DNATed, so it needs a route and forwarding. */
export function reachesGuard(route: RouteFact | undefined, forwarding: Finding): boolean {
  return isPlain(route) && forwarding.state !== "failing";
}

/** Runs `argv` in a pod's network namespace, and in no other namespace of the pod. */
export function inNamespace(name: string, argv: readonly string[]): [string, ...string[]] {
  return ["nsenter", `--net=/var/run/netns/${name}`, "--", ...argv];
}

/**
 * Parses the output of a probe. Probes go to port 0, which no ServicePort can have, so they reach no endpoint: the guard
 * rejects ports that no import exposes, at every address of the range.
 */
export function parseProbe({ status, stdout }: ProgramResult): Probe["result"] {
  if (status !== 0) return "inconclusive";
  const word = stdout.trim();
  if (word === "ECONNREFUSED") return "rejected";
  return ["silence", "EHOSTUNREACH", "ENETUNREACH"].includes(word) ? "bypassed" : "inconclusive";
}

/** Pods that must bypass the guard for a finding: a NetworkPolicy may drop the packets of one. */
const ENOUGH = 3;
/** Probes that are kept. */
export const MOST_PROBES = 64;

const FIXES: Readonly<Record<Plugin, string>> = {
  cilium: "Cilium may route in eBPF: set bpf.hostLegacyRouting=true in its Helm values.",
  calico:
    "Calico may run its eBPF dataplane: set linuxDataplane to Iptables or Nftables in its Installation.",
};

/** Whether packets of pods pass our rules. `probes`: oldest first. */
export function checkPods(
  cidr: Cidr,
  links: LinkFact | undefined,
  probes: readonly Probe[],
): Finding {
  const key = { check: "pods", family: cidr.family } as const;
  if (links === undefined)
    return unknown(key, "Cannot list links: is the program ip (iproute2) installed?");
  const recent = latest(probes).slice(0, ENOUGH);
  if (recent.some(({ result }) => result === "rejected")) return ok(key);
  const { plugin, namespaces } = links;
  // With a plugin that is known to bypass netfilter, fewer pods are enough if there are no more.
  const enough = plugin === undefined ? ENOUGH : Math.min(ENOUGH, namespaces.length || 1);
  if (recent.length < enough) {
    const advice = whyUnknown(namespaces.length, recent.length);
    if (plugin === undefined) return unknown(key, advice);
    return { ...unknown(key, `${FIXES[plugin]} ${advice}`), reason: "bypass-suspected" };
  }
  const names = recent.map(({ namespace }) => namespace).join(", ");
  const fix =
    plugin === undefined
      ? "Their packets may bypass netfilter (eBPF host routing, macvlan, ipvlan), or a NetworkPolicy drops them."
      : `${FIXES[plugin]} If it is set, a network policy drops what these pods send to ${cidr.text}.`;
  const advice = `The last ${counted(recent.length, "pod")} probed did not reach our rules, which reject the probe at once (${names}). ${fix}`;
  return failing(key, "pods-bypass", advice);
}

function whyUnknown(pods: number, probed: number): string {
  if (pods === 0)
    return "No pod's network namespace found; in a container, mount the host's /run/netns (HostToContainer).";
  if (probed > 0) return `Pods probed: ${probed}; none has reached our rules yet.`;
  return "No pod probed yet: this needs our guard in the kernel, a route, forwarding, and the right to enter network namespaces (nsenter, CAP_SYS_ADMIN).";
}

/** The last conclusive probe of each namespace, newest first. */
function latest(probes: readonly Probe[]): Probe[] {
  const newest = new Map<string, Probe>();
  for (const probe of probes.toReversed()) {
    if (probe.result === "inconclusive" || newest.has(probe.namespace)) continue;
    newest.set(probe.namespace, probe);
  }
  return [...newest.values()];
}
