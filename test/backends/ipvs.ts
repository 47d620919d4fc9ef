import assert from "node:assert/strict";
import { runSteps } from "../../agent/backends/ipvs/apply.ts";
import { IpvsCommands } from "../../agent/backends/ipvs/commands.ts";
import { KernelChange } from "../../agent/backends/kernel-table.ts";
import { NftProcess } from "../../agent/system/nft-process.ts";
import { HOME } from "../packets/address-plan.ts";
import { programIpvs } from "../packets/ipvs-trace.ts";
import type { Flow } from "../packets/packet-case.ts";
import { pureIpvs } from "../states/replay.ts";
import { addressesIn, changedChains, NFT_STAND_IN, type TestedBackend } from "./tested-backend.ts";

const PROTOCOLS = { TCP: "t", UDP: "u", SCTP: "-sctp-service" } as const;

const ARP_DELETED = { "an arp table that is deleted": "nft delete table arp csp-ipvs" };

/** The IPVS backend. */
export const ipvs: TestedBackend = {
  name: "ipvs",
  title: "IPVS",
  inGuest: "all",
  // In each family that has a table.
  complete:
    /^(?=.*bind-incoming 1 )(?:(?!.*table ip6 csp-ipvs)|.*bind-incoming 1 .*bind-incoming 1 )/s,
  flags: ["--backend", "ipvs"],
  config: {},
  pure: pureIpvs,
  program: programIpvs,
  flow: withIpvs,
  // UDP has no connections to drain.
  kept: ["tcp", "sctp"],
  // The guard admits packets of connections that only IPVS still has.
  invalid: "untouched",
  failover: { written: 3, deleted: 0 },
  storm: {
    connections: 1_500,
    changes: 100,
    /**
     * As much as an emulated machine bears: with more, connections wait for programs, and not for rules. There are few ports, so that, as
     * in a longer storm, each is used again while IPVS knows it, and for two VIPs at a time.
     */
    load: {
      ...{ clients: 4, rate: 25, inFlight: 4, timeout: 15_000, pause: 200 },
      ports: [40_000, 40_999],
    },
    // IPVS may lose the first SYN of a port that is used again: 13 of 1761 when this was measured.
    resent: 1 / 20,
  },
  foreignChanges: (family) => {
    const ip = family === "IPv4" ? "ip" : "ip6";
    const [server, destination, stranger] =
      family === "IPv4"
        ? ["241.0.1.7:80", "10.1.0.11:8080", "198.18.0.9:9"]
        : ["[fd00:241::7]:80", "[fd00:10:1::11]:8080", "[fd00:18::9]:9"];
    return {
      "servers that are flushed": "ipvsadm -C",
      "a guard that is deleted": `nft delete table ${ip} csp-ipvs`,
      "a device that is deleted": "ip link delete csp-ipvs0",
      "a sysctl that is reset": "sysctl -w net.ipv4.vs.conntrack=0",
      "ports that are flushed": `nft flush set ${ip} csp-ipvs served`,
      "a destination whose weight is 0": `ipvsadm -e -t ${server} -r ${destination} -m -w 0`,
      "a destination that is added": `ipvsadm -a -t ${server} -r ${stranger} -m -w 3`,
      ...changedChains(`${ip} csp-ipvs`, "forward"),
      ...(family === "IPv4" && ARP_DELETED),
    };
  },
  writers: ["nft"],
  standIns: { nft: NFT_STAND_IN },
  async applyPart(family, tx, part) {
    assert.ok(tx instanceof KernelChange && tx.commands instanceof IpvsCommands);
    const { steps } = tx.commands;
    const nft = new NftProcess();
    await runSteps(family, steps.slice(0, Math.floor(part * (steps.length + 1))), nft);
    await nft.close();
  },
  foreign: {
    create: "ipvsadm -A -t 241.0.0.10:30083 -s rr",
    list: "ipvsadm -Sn",
    shown: /-A -t 241\.0\.0\.10:30083 -s rr/,
  },
  async takers(node, family, protocol) {
    const listing = await node.exec(["ipvsadm", "-Sn"]);
    const server = family === "IPv4" ? "[0-9.]+" : "\\[[^\\]]+\\]";
    const line = `^-a -${PROTOCOLS[protocol]} ${server}:\\d+ -r (\\S+):8080 -m -w 1$`;
    return addressesIn(listing, new RegExp(line, "gm"));
  },
  async own(node) {
    const found = await Promise.all([
      // Neither servers of others nor destinations that drain.
      node.run(["sh", "-c", "ipvsadm -Sn | grep -vE ' -s rr$| -w 0$'"]),
      ...["ip", "ip6", "arp"].map((of) => node.run(["nft", "list", "table", of, "csp-ipvs"])),
      node.run(["ip", "-o", "address", "show", "dev", "csp-ipvs0", "scope", "global"]),
    ]);
    // An interface that is made again has another number, and elements of a set have no order.
    const words = found.flatMap(({ stdout }) => stdout.split(/\n|, /));
    const bare = words.map((word) => word.replace(/^\d+: |elements = \{|\}$/g, "").trim());
    return bare.filter((word) => word !== "").sort();
  },
};

/**
 * IPVS remembers a client for each VIP and port separately. Connections of the node itself have the VIP as their source, which is
 * an address of the node, and are masqueraded.
 */
function withIpvs(flow: Flow): Flow {
  const again = flow.again.length === 0 ? [] : [flow.to, flow.to];
  if (flow.expect === "unserved") return { ...flow, again, expect: "refused" };
  if (typeof flow.expect === "string" || flow.from !== HOME) return { ...flow, again };
  return { ...flow, again, expect: flow.expect.map((one) => ({ ...one, masquerade: true })) };
}
