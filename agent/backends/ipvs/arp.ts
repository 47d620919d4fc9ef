import type { Cidr } from "../../../api/cidr.ts";
import type { Chain } from "../nft/chains.ts";

/**
 * Every node has the VIPs, so it must not announce them in ARP. Requests for a VIP are dropped. For a packet from a VIP, such as a
 * reply through IPVS, the kernel would send requests with the VIP as sender; the sender is set to 0.0.0.0, which neighbours do
 * not cache (RFC 5227, 2.1.1).
 *
 * The sysctls arp_ignore and arp_announce affect all addresses of the node: with them, it does not reply to pods behind a device
 * without an address (kubernetes#71555). IPv6 needs none of this: it uses only addresses of the device (RFC 4861, 7.2).
 */
export function arpChains(clusterSetCidrs: readonly Cidr[]): Chain[] {
  const vips = [...clusterSetCidrs.map(({ text }) => text), "@explicit"];
  return [
    {
      name: "input",
      hook: "filter hook input priority 0",
      rules: vips.map((one) => `arp operation request arp daddr ip ${one} drop`),
    },
    {
      name: "output",
      hook: "filter hook output priority 0",
      rules: vips.map(
        (one) => `arp operation request arp saddr ip ${one} arp saddr ip set 0.0.0.0`,
      ),
    },
  ];
}
