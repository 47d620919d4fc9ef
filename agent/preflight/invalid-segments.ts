import type { Family } from "../../api/address.ts";
import type { ProgramResult } from "../system/program-result.ts";
import { type Finding, ok, unknown } from "./finding.ts";

/** Where the kernel says whether connection tracking accepts segments outside of a TCP window. */
export const LIBERAL_FILE = "/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal";

/** Tables of the legacy flavour: listing one that is not there would create it. */
export const LEGACY_TABLES: Readonly<Record<Family, string>> = {
  IPv4: "/proc/net/ip_tables_names",
  IPv6: "/proc/net/ip6_tables_names",
};

/**
 * Lists the chain in which kube-proxy drops INVALID packets, in its modes iptables and ipvs. legacy: the table, because only iptables-save takes no lock,
 * for which other programs would have to wait.
 */
export function invalidQuery(family: Family, flavour: "nft" | "legacy"): [string, ...string[]] {
  const ip = family === "IPv4" ? "ip" : "ip6";
  return flavour === "legacy"
    ? [`${ip}tables-legacy-save`, "-t", "filter"]
    : [`${ip}tables-nft`, "-t", "filter", "-S", "KUBE-FORWARD"];
}

/** iptables' exit status if there is no such chain. */
const NO_CHAIN = 1;

/** Whether that chain drops them; undefined if that is not known. */
export function dropsInvalid({ status, stdout }: ProgramResult): boolean | undefined {
  if (status !== 0) return status === NO_CHAIN ? false : undefined;
  return /^-A KUBE-FORWARD .*--ctstate INVALID .*-j DROP$/m.test(stdout);
}

/**
 * Whether a segment that connection tracking calls INVALID can end a connection: it is not translated, so the client gets it from the endpoint's
 * address, resets that, and the endpoint ends the connection (kubernetes#74839). A kube-proxy in nftables mode does not drop such packets. No rule of
 * ours does either: nothing in such a packet shows that it belongs to an import. `drops`: whether kube-proxy drops them; undefined if that is not known. No alarm, because such segments
 * are rare, and another firewall may drop them.
 */
export function checkInvalid(
  family: Family,
  liberal: string | undefined,
  drops: boolean | undefined,
): Finding {
  const key = { check: "invalid", family } as const;
  if (drops === true || (liberal !== undefined && liberal.trim() !== "0")) return ok(key);
  if (liberal === undefined) return unknown(key, `Cannot read ${LIBERAL_FILE}.`);
  if (drops === undefined) return unknown(key, "Cannot list kube-proxy's chain KUBE-FORWARD.");
  const advice =
    "A segment outside of the TCP window reaches clients without translation, and ends their connection: kube-proxy drops no INVALID packets on this node. Run sysctl -w net.netfilter.nf_conntrack_tcp_be_liberal=1 (kube-proxy: --conntrack-tcp-be-liberal), unless another firewall drops them.";
  return { ...unknown(key, advice), reason: "invalid-accepted" };
}
