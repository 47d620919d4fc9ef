import type { Family } from "../../api/address.ts";
import type { ProgramResult } from "../system/program-result.ts";
import { type Finding, failing, ok, unknown } from "./finding.ts";

/** The sysctl for each family, as a file and by its name. The file exists only while the module br_netfilter is loaded. */
export const BRIDGE_FILTER: Readonly<
  Record<Family, { readonly file: string; readonly sysctl: string }>
> = {
  IPv4: {
    file: "/proc/sys/net/bridge/bridge-nf-call-iptables",
    sysctl: "net.bridge.bridge-nf-call-iptables",
  },
  IPv6: {
    file: "/proc/sys/net/bridge/bridge-nf-call-ip6tables",
    sysctl: "net.bridge.bridge-nf-call-ip6tables",
  },
};

/** Lists bridges with their own settings. */
export const BRIDGE_QUERY: [string, ...string[]] = [
  "ip",
  "-o",
  "-d",
  "link",
  "show",
  "type",
  "bridge",
];

/** A Linux bridge, and the families for which it is set to filter whatever the sysctl says. */
export interface BridgeFact {
  readonly name: string;
  readonly filters: ReadonlySet<Family>;
}

/** Parses the result of `BRIDGE_QUERY`; undefined if it failed. */
export function parseBridges({ status, stdout }: ProgramResult): BridgeFact[] | undefined {
  if (status !== 0) return undefined;
  return stdout.split("\n").flatMap((line) => {
    const [, name] = /^\d+: ([^:@\s]+)/.exec(line) ?? [];
    if (name === undefined) return [];
    const filters = new Set<Family>();
    if (/ nf_call_iptables 1\b/.test(line)) filters.add("IPv4");
    if (/ nf_call_ip6tables 1\b/.test(line)) filters.add("IPv6");
    return [{ name, filters }];
  });
}

/**
 * Whether what pods send to each other on one bridge passes netfilter. Otherwise the answer of an endpoint to a client on its bridge is not translated
 * back: the client resets it, and waits. `text`: the content of the sysctl's file; `masters`: devices to which links of pods belong.
 */
export function checkBridges(
  family: Family,
  text: string | undefined,
  bridges: readonly BridgeFact[] | undefined,
  masters: readonly string[] | undefined,
): Finding {
  const key = { check: "bridge", family } as const;
  if (bridges === undefined || masters === undefined)
    return unknown(key, "Cannot list links: is the program ip (iproute2) installed?");
  if (text !== undefined && text.trim() !== "0") return ok(key);
  const open = bridges.filter(
    ({ name, filters }) => masters.includes(name) && !filters.has(family),
  );
  if (open.length === 0) return ok(key);
  const names = open.map(({ name }) => name).join(", ");
  const { sysctl } = BRIDGE_FILTER[family];
  const why = text === undefined ? "the module br_netfilter is not loaded" : `${sysctl} is 0`;
  const advice = `Pods on the bridge ${names} answer each other past netfilter, because ${why}: a pod that calls a ClusterSetIP waits if its endpoint is on the same bridge. Run modprobe br_netfilter and sysctl -w ${sysctl}=1, and set it in /etc/sysctl.d.`;
  return failing(key, "bridge-unfiltered", advice);
}
