import type { Family } from "../../api/address.ts";
import { type Finding, failing, ok, unknown } from "./finding.ts";

/** The sysctl for each family, as a file and by its name. */
export const FORWARDING: Readonly<
  Record<Family, { readonly file: string; readonly sysctl: string }>
> = {
  IPv4: { file: "/proc/sys/net/ipv4/ip_forward", sysctl: "net.ipv4.ip_forward" },
  IPv6: { file: "/proc/sys/net/ipv6/conf/all/forwarding", sysctl: "net.ipv6.conf.all.forwarding" },
};

/**
 * Whether the node forwards packets of pods. `text`: the content of the sysctl's file. A strict rp_filter is no finding: the
 * kernel compares the endpoint's address with its routes, not the ClusterSetIP.
 */
export function checkForwarding(family: Family, text: string | undefined): Finding {
  const key = { check: "forwarding", family } as const;
  const { file, sysctl } = FORWARDING[family];
  if (text === undefined)
    return unknown(key, `Cannot read ${file}: is ${family} disabled in this kernel?`);
  if (text.trim() !== "0") return ok(key);
  const advice = `The node does not forward ${family}, so its pods reach no other host. Run sysctl -w ${sysctl}=1, and set it in /etc/sysctl.d.`;
  return failing(key, "forwarding-off", advice);
}
