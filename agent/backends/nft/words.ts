/** The words of nft for each IP family. */
export const WORDS = {
  IPv4: { ip: "ip", type: "ipv4_addr", unreachable: "icmp type port-unreachable" },
  IPv6: { ip: "ip6", type: "ipv6_addr", unreachable: "icmpv6 type port-unreachable" },
} as const;
