import type { Family } from "../../api/address.ts";
import { failing, unknown, type Verdict, well } from "./verdict.ts";

/** The kernel's switch, as a file and as sysctl calls it. */
export const FORWARDING: Readonly<
  Record<Family, { readonly file: string; readonly sysctl: string }>
> = {
  IPv4: { file: "/proc/sys/net/ipv4/ip_forward", sysctl: "net.ipv4.ip_forward" },
  IPv6: { file: "/proc/sys/net/ipv6/conf/all/forwarding", sysctl: "net.ipv6.conf.all.forwarding" },
};

/**
 * Whether the node passes on what pods send, DNATed or not. `text`: what the switch's file holds. A strict
 * rp_filter is no finding: the kernel compares the endpoint's address, not the ClusterSetIP, with its routes. PURE.
 */
export function judgeForwarding(family: Family, text: string | undefined): Verdict {
  const place = { check: "forwarding", family } as const;
  const { file, sysctl } = FORWARDING[family];
  if (text === undefined)
    return unknown(place, `${file} cannot be read: is ${family} off in this kernel?`);
  if (text.trim() !== "0") return well(place);
  const advice = `The node does not forward ${family}, so pods reach nothing outside of themselves: sysctl -w ${sysctl}=1, and in /etc/sysctl.d to keep it.`;
  return failing(place, "forwarding-off", advice);
}
