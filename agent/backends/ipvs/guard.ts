import type { Family } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import type { MasqueradePolicy } from "../backend.ts";
import type { Chain } from "../nft/chains.ts";
import { WORDS } from "../nft/chains.ts";
import { hairpinRules, policyRules } from "../nft/policy-rules.ts";

/** What the rules depend on, besides the elements of their sets. */
export interface GuardOptions {
  readonly family: Family;
  /** The ClusterSet CIDRs of the family. */
  readonly clusterSetCidrs: readonly Cidr[];
  readonly masquerade: MasqueradePolicy;
  /** True while another backend of ours may still translate VIPs. */
  readonly unbound?: boolean;
}

/**
 * The chains of the guard. A packet to a VIP is admitted if its connection is established, or if it is new and to a served port; others are
 * rejected.
 *
 * - bind: NAT before kube-proxy's keeps the destination of connections to VIPs, or its NodePorts would be open on each VIP. The
 *   guard for local connections comes before, too: IPVS handles them right after (LOCAL_OUT, -98), incoming ones after all
 *   filters (LOCAL_IN, 99).
 * - strays: a packet that is still addressed to a VIP and port after IPVS was not forwarded, because its server or connection is
 *   gone. A program that listens on this port would receive it.
 * - sources: a local program uses the VIP as its source address, to which an endpoint on another node could not reply. Its
 *   connections are masqueraded, as are hairpins.
 * - answers: IPVS identifies a reply by the client's port and the destination, so connections from one port to two VIPs, or to
 *   two ports of one, can get each other's replies. Conntrack distinguishes them, so the source is set from its entry.
 */
export function guardChains({
  family,
  clusterSetCidrs,
  masquerade,
  unbound,
}: GuardOptions): Chain[] {
  const { ip, unreachable } = WORDS[family];
  const isVip = (field: string, verdict: string) =>
    [...clusterSetCidrs.map(({ text }) => text), "@explicit"].map(
      (vips) => `${field} ${vips} ${verdict}`,
    );
  const toVips = (verdict: string) => isVip(`${ip} daddr`, verdict);
  return [
    {
      name: "guard",
      rules: [
        "ct state established,related return",
        `${ip} daddr . meta l4proto . th dport @served return`,
        "ct state new meta l4proto tcp reject with tcp reset",
        `ct state new reject with ${unreachable}`,
        "drop",
      ],
    },
    { name: "input", hook: "filter hook input priority -10", rules: toVips("goto guard") },
    {
      name: "strays",
      hook: "filter hook input priority 110",
      rules: [`ct direction original ${ip} daddr . meta l4proto . th dport @served goto stray`],
    },
    {
      name: "stray",
      rules: ["meta l4proto tcp reject with tcp reset", `reject with ${unreachable}`],
    },
    { name: "forward", hook: "filter hook forward priority -10", rules: toVips("goto guard") },
    { name: "output", hook: "filter hook output priority -110", rules: toVips("goto guard") },
    {
      name: "bind-incoming",
      hook: "nat hook prerouting priority -105",
      rules: unbound ? [] : toVips(`dnat to ${ip} daddr`),
    },
    {
      name: "bind-outgoing",
      hook: "nat hook output priority -105",
      rules: unbound ? [] : toVips(`dnat to ${ip} daddr`),
    },
    {
      name: "postrouting",
      hook: "nat hook postrouting priority 95",
      rules: isVip(`ct original ${ip} daddr`, "goto sources"),
    },
    {
      name: "answers",
      hook: "filter hook postrouting priority -150",
      rules: ["ct direction original accept", ...isVip(`ct original ${ip} daddr`, "goto origin")],
    },
    {
      name: "origin",
      rules: ["tcp", "udp", "sctp"].map(
        (protocol) =>
          `meta l4proto ${protocol} ${ip} saddr set ct original ${ip} daddr ${protocol} sport set ct original proto-dst`,
      ),
    },
    {
      name: "sources",
      rules: [
        ...toVips("return"),
        ...isVip(`${ip} saddr`, "masquerade fully-random"),
        "jump hairpin",
        ...policyRules(family, masquerade),
      ],
    },
    { name: "hairpin", rules: hairpinRules(family) },
  ];
}

/** Whether rules with these comments keep other programs from translating VIPs. */
export function isBound(marks: readonly string[]): boolean {
  return marks.some((mark) => mark.startsWith("bind-"));
}
