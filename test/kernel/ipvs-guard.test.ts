import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type GuardSets, marksOf, renderTables } from "../../agent/backends/ipvs/nft-tables.ts";
import { serviceKey } from "../../agent/plan/virtual-service.ts";
import { FAMILIES } from "../../api/address.ts";
import { changedChains } from "../backends/tested-backend.ts";
import { OPTIONS } from "../doubles/model-ipvs.ts";
import { cidr } from "../generators/facts.ts";
import { Lab } from "../lab/lab.ts";
import { evaluate } from "../lab/programs.ts";
import { eventually } from "../stages/agent-process.ts";

const SETS: GuardSets = {
  served: new Map([[serviceKey({ address: "f1000001", protocol: "TCP", port: 80 }), "a/b"]]),
  explicit: new Set(),
};

const RANGES = { IPv4: "241.0.0.0/8", IPv6: "fd00:241::/32" } as const;

for (const family of FAMILIES) {
  test(`${family}: a change that no rule shows is found, and replacing the tables repairs it`, async () => {
    await using lab = await Lab.oneNode();
    const options = { ...OPTIONS, family, clusterSetCidrs: [cidr(RANGES[family])] };
    const changes = [
      changedChains(`${family === "IPv4" ? "ip" : "ip6"} csp-ipvs`, "forward"),
      family === "IPv4" ? changedChains("arp csp-ipvs", "input") : {},
    ].flatMap((all) => Object.entries(all));
    const file = join(lab.directory, "guard.nft");
    writeFileSync(file, renderTables(options, { served: new Map(), explicit: new Set() }));
    const script = `
      import { execFileSync } from "node:child_process";
      import { listGuard } from "@/agent/backends/ipvs/read.ts";
      const [family, file, ...commands] = process.argv.slice(1);
      const show = async () => console.log(JSON.stringify((await listGuard(family, "elements")).rules));
      const write = () => execFileSync("nft", ["-f", file]);
      write();
      await show();
      for (const command of commands) {
        execFileSync("sh", ["-c", command]);
        await show();
        write();
        await show();
      }`;
    const args = [family, file, ...changes.map(([, command]) => command)];
    const found = await evaluate(lab.node("c1", "n1"), script, { args });
    const marks = marksOf(options);
    assert.equal(found.length, 2 * changes.length + 1);
    for (const [i, rules] of found.entries()) {
      const [what = "nothing"] = changes[(i - 1) >> 1] ?? [];
      if (i % 2 === 0) assert.deepEqual(rules, marks, `after ${what}`);
      else assert.ok(rules.includes(""), what);
    }
  });
}

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
