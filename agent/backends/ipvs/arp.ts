import { addressFromHex } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import { TABLE } from "./guard.ts";
import { marksOfChains } from "./marks.ts";

/** Our table in nftables' family of ARP, as nft names it. */
export const ARP_TABLE = `arp ${TABLE}`;

/**
 * The rules. A VIP is an address of this node and of every other, and no neighbour may hear that: whoever asks for one gets
 * no answer, by whichever interface. And where a packet that comes from a VIP has the node ask for a neighbour (an answer
 * that IPVS leads back, as a rule), the kernel would ask in the VIP's name: it asks in nobody's, with 0.0.0.0 as its
 * sender, which is answered as any other and remembered by nobody (RFC 5227, 2.1.1).
 *
 * The usual switches, arp_ignore and arp_announce, concern all addresses of the node: with them, a node does not answer pods
 * at the other end of a device that has no address of its own (kubernetes#71555). IPv6 needs none of this: the kernel
 * answers, and asks, only with addresses of the device itself (RFC 4861, 7.2).
 */
function chainsOf(clusterSetCidr: Cidr) {
  const vips = [clusterSetCidr.text, "@explicit"];
  return [
    { name: "input", rules: vips.map((one) => `arp operation request arp daddr ip ${one} drop`) },
    {
      name: "output",
      rules: vips.map(
        (one) => `arp operation request arp saddr ip ${one} arp saddr ip set 0.0.0.0`,
      ),
    },
  ];
}

/** The comments of all rules, in their order. PURE. */
export function arpMarksOf(clusterSetCidr: Cidr): string[] {
  return marksOfChains(chainsOf(clusterSetCidr), "arp ");
}

/** The whole table without elements, in place of one that may be there, as input of nft. PURE. */
export function renderArpTable(clusterSetCidr: Cidr): string {
  const marks = arpMarksOf(clusterSetCidr).values();
  const chains = chainsOf(clusterSetCidr).map(({ name, rules }) =>
    [
      `  chain ${name} {`,
      `    type filter hook ${name} priority 0; policy accept;`,
      ...rules.map((rule) => `    ${rule} comment "${marks.next().value}"`),
      "  }",
    ].join("\n"),
  );
  return [
    `table ${ARP_TABLE} {}`,
    `delete table ${ARP_TABLE}`,
    `table ${ARP_TABLE} {`,
    "  set explicit { type ipv4_addr; }",
    ...chains,
    "}",
    "",
  ].join("\n");
}

/** What turns VIPs outside of the ClusterSet CIDR (`Address.hex`) from these into those. PURE. */
export function renderArpElements(
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
): string[] {
  const line = (verb: "add" | "delete", vips: readonly string[]) =>
    vips.length === 0
      ? []
      : [
          `${verb} element ${ARP_TABLE} explicit { ${vips.map((one) => addressFromHex(one).text).join(", ")} }`,
        ];
  return [
    ...line(
      "delete",
      [...before].filter((one) => !after.has(one)),
    ),
    ...line(
      "add",
      [...after].filter((one) => !before.has(one)),
    ),
  ];
}
