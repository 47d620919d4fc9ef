import { programNftables } from "../packets/nft-trace.ts";
import type { Flow } from "../packets/packet-case.ts";
import { pureNftables } from "../states/replay.ts";
import { addressesIn, changedChains, NFT_STAND_IN, type TestedBackend } from "./tested-backend.ts";

/** The nftables backend. */
export const nftables: TestedBackend = {
  name: "nftables",
  title: "nftables",
  inGuest: "packets",
  complete: /chain guard-forward/,
  flags: ["--backend", "nftables"],
  config: {},
  pure: pureNftables,
  program: programNftables,
  flow: withNftables,
  kept: ["tcp", "udp", "sctp"],
  invalid: "dropped",
  failover: { written: 2, deleted: 3 },
  storm: { connections: 50_000, changes: 500, resent: 1 / 10_000 },
  foreignChanges: (family) => {
    const table = `${family === "IPv4" ? "ip" : "ip6"} clusterset-proxy`;
    return {
      "a table that is deleted": `nft delete table ${table}`,
      "rules that are flushed": `nft flush chain ${table} translate`,
      "endpoints that are flushed": `nft flush map ${table} endpoints`,
      "services that are flushed": `nft flush map ${table} services`,
      "numbers of slots that are flushed": `nft flush map ${table} picks`,
      "hashes of slots that are flushed": `nft flush map ${table} hashes`,
      ...(family === "IPv4" && {
        "VIPs outside the ClusterSet CIDR that are flushed": `nft flush set ${table} explicit`,
      }),
      "a number of slots that leads to the chain of another": `nft 'delete element ${table} picks { 0:2 }; add element ${table} picks { 0:2 : goto pick-1 }'`,
      "a chain of another program with rules": `nft 'add chain ${table} mine; add rule ${table} mine drop; add rule ${table} mine accept comment "mine, too"'`,
      ...changedChains(table, "prerouting"),
    };
  },
  writers: ["nft"],
  standIns: { nft: NFT_STAND_IN },
  // Imported late: the virtual machine has no bundler.
  writingByTools: async (lab) =>
    (await import("../conntrack/without-native.ts")).withoutNative(lab),
  foreign: {
    create: "nft add table ip mine; nft add chain ip mine c",
    list: "nft list table ip mine",
    shown: /chain c/,
  },
  async takers(node, family, protocol) {
    const ip = family === "IPv4" ? "ip" : "ip6";
    const { stdout } = await node.run(["nft", "list", "map", ip, "clusterset-proxy", "endpoints"]);
    const line = ` \\. ${protocol.toLowerCase()} \\. \\S+ \\. \\S+ comment "[^"]*" : (\\S+) \\. 8080`;
    return addressesIn(stdout, new RegExp(line, "g"));
  },
  async own(node) {
    const found = await Promise.all(
      ["ip", "ip6"].map((of) => node.run(["nft", "list", "table", of, "clusterset-proxy"])),
    );
    // Elements have no order.
    const words = found.flatMap(({ stdout }) => stdout.split(/\n|, ?/));
    const bare = words.map((word) => word.replace(/elements = \{|\}$/g, "").trim());
    return bare.filter((word) => word !== "").sort();
  },
};

/** A client is remembered for each VIP separately. */
function withNftables(flow: Flow): Flow {
  const again = flow.again.filter(({ address }) => address === flow.to.address);
  return { ...flow, again, expect: flow.expect === "unserved" ? "untouched" : flow.expect };
}
