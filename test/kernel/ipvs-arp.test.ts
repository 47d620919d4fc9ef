import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { noSets, renderTables } from "../../agent/backends/ipvs/nft-tables.ts";
import { OPTIONS } from "../doubles/model-ipvs.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";

const VIP = "241.0.0.10";
const EXPLICIT = "203.0.113.7";
const [NODE, OTHER, NEIGHBOUR] = ["192.0.2.1", "198.51.100.1", "192.0.2.2"];
const EXPLICIT_HEX = "cb007107";
const SETS = { ...noSets(), explicit: new Set([EXPLICIT_HEX]) };

/** Counts what arrives at the neighbour, by whom it comes from. */
const WATCH = `table arp watch {
  chain input {
    type filter hook input priority 0; policy accept;
    arp operation request arp saddr ip { 241.0.0.0/8, ${EXPLICIT} } counter comment "vip"
    arp operation request arp saddr ip 0.0.0.0 counter comment "nobody"
  }
}
`;

describe("VIPs on a device of the node, and ARP from its neighbours", () => {
  let lab: Lab;
  let node: Namespace;
  let neighbour: Namespace;
  const nft = (where: Namespace, text: string) => where.exec(["nft", "-f", "-"], { stdin: text });
  const forget = async () => {
    for (const one of [node, neighbour]) await one.exec(["ip", "neighbour", "flush", "all"]);
  };
  /** Whether a connection to an address gets any response, also a rejection. */
  const answers = async (from: Namespace, to: string, ...more: readonly string[]) => {
    await forget();
    const { code } = await from.run(["curl", "-s", "-m", "2", ...more, `http://${to}:9/`]);
    return code === 7;
  };
  const asked = async (who: string) => {
    const text = await neighbour.exec(["nft", "list", "table", "arp", "watch"]);
    const [, packets] = new RegExp(`packets (\\d+) .*"${who}"`).exec(text) ?? [];
    return Number(packets);
  };

  before(async () => {
    const nodes = ["n1", "n2"].map((name) => ({ name, pods: {} }));
    lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
    node = lab.node("c1", "n1");
    neighbour = lab.node("c1", "n2");
    const peer = ["peer", "name", "lan", "netns", neighbour.id];
    await node.exec(["ip", "link", "add", "lan", "type", "veth", ...peer]);
    await node.exec(["ip", "link", "add", "other", "type", "veth", "peer", "name", "end"]);
    for (const [where, address, device] of [
      [node, `${NODE}/24`, "lan"],
      [node, `${OTHER}/24`, "other"],
      [node, `${VIP}/32`, "lo"],
      [node, `${EXPLICIT}/32`, "lo"],
      [neighbour, `${NEIGHBOUR}/24`, "lan"],
    ] as const) {
      await where.exec(["ip", "address", "add", address, "dev", device]);
      await where.exec(["ip", "link", "set", device, "up"]);
    }
    for (const range of [`${VIP}/32`, `${EXPLICIT}/32`, `${OTHER}/32`])
      await neighbour.exec(["ip", "route", "add", range, "dev", "lan"]);
    await nft(neighbour, WATCH);
  });
  after(() => lab.remove());

  test("without the table neighbours receive responses for VIPs", async () => {
    assert.equal(await answers(neighbour, VIP), true);
    assert.equal(await answers(neighbour, EXPLICIT), true);
    assert.equal(await answers(node, NEIGHBOUR, "--interface", VIP), true);
    assert.ok((await asked("vip")) > 0);
  });

  test("with the table requests for VIPs get no response, and requests for the node's other addresses do", async () => {
    await nft(node, renderTables(OPTIONS, SETS));
    assert.equal(await answers(neighbour, VIP), false);
    assert.equal(await answers(neighbour, EXPLICIT), false);
    assert.equal(await answers(neighbour, NODE), true);
    assert.equal(await answers(neighbour, OTHER), true, "an address of another device");
  });

  test("with a VIP as its source, the node's own request has no sender address, and gets a response", async () => {
    await nft(neighbour, `delete table arp watch\n${WATCH}`);
    const via = ["via", NODE];
    for (const one of [VIP, EXPLICIT]) {
      await neighbour.exec(["ip", "route", "replace", `${one}/32`, ...via]);
      assert.equal(await answers(node, NEIGHBOUR, "--interface", one), true);
    }
    assert.equal(await asked("vip"), 0);
    assert.equal(await asked("nobody"), 2);
  });
});
