import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { GuardOptions } from "../../agent/backends/ipvs/guard.ts";
import { renderTables } from "../../agent/backends/ipvs/nft-tables.ts";
import type { GuardSets } from "../../agent/backends/ipvs/state.ts";
import { serviceKey } from "../../agent/backends/nft/service-key.ts";
import { cidr } from "../generators/facts.ts";
import { Lab } from "../lab/lab.ts";
import { eventually } from "../stages/agent-process.ts";

const OPTIONS: GuardOptions = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
};
const SETS: GuardSets = {
  served: new Map([[serviceKey({ address: "f1000001", protocol: "TCP", port: 80 }), "a/b"]]),
  explicit: new Set(),
};

/** Connects to HOST PORT, and prints what comes; says `one` at once, and `two` at SIGHUP. */
const CLIENT = `
const [host, port] = process.argv.slice(1);
const socket = require("node:net").connect({ host, port: Number(port) }, () => socket.write("one\\n"));
socket.on("data", (text) => process.stdout.write(text));
socket.on("error", ({ code }) => console.log(code));
process.on("SIGHUP", () => socket.write("two\\n"));
`;

describe("a connection without a conntrack entry", () => {
  for (const [loose, state] of [
    ["1", "new"],
    ["0", "invalid"],
  ] as const) {
    test(`continues while its port is served, although its next packet is ${state}`, async () => {
      await using lab = await Lab.oneNode({ client: [] });
      const node = lab.node("c1", "n1");
      const table = `${lab.directory}/guard.nft`;
      writeFileSync(table, renderTables(OPTIONS, SETS));
      await node.exec(["nft", "-f", table]);
      // A program that listens on the node replaces the endpoint.
      await node.exec(["nft", "flush", "chain", "ip", "csp-ipvs", "strays"]);
      await node.exec(["ip", "address", "add", "241.0.0.1/32", "dev", "lo"]);
      await node.exec(["sysctl", "-w", `net.netfilter.nf_conntrack_tcp_loose=${loose}`]);
      node.spawn(["socat", "TCP-LISTEN:80,fork,reuseaddr", "EXEC:cat"]);
      await eventually(async () => assert.match(await node.exec(["ss", "-ltn"]), /:80 /));
      const argv = [process.execPath, "-e", CLIENT, "241.0.0.1", "80"];
      const client = lab.pod("c1", "n1", "client").spawn(argv);
      await client.line(/one/);
      await node.exec(["conntrack", "-F"]);
      client.signal("SIGHUP");
      await client.line(/two/);
      assert.deepEqual(client.lines, ["one", "two"]);
    });
  }
});
