import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { changedChains } from "../backends/tested-backend.ts";
import { BACKEND } from "../backends.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { evaluate } from "../lab/programs.ts";
import { AGENT, eventually } from "../stages/agent-process.ts";
import { TrafficStage } from "../stages/traffic-stage.ts";

const PATH = process.env.PATH ?? "";
/** The directory of another nft than the system's. */
const DEBIAN_13 = execFileSync(join(import.meta.dirname, "debian-13-nft"), { encoding: "utf8" });
const PATHS = [PATH, `${DEBIAN_13.trim()}:${PATH}`];
const TABLE = "ip clusterset-connections";

/** Runs a piece of code in a namespace, with the tables of both families and what makes the facts of a node; it prints its result. */
async function run(node: Namespace, code: string, path = PATH): Promise<unknown> {
  const script = `
    import { cidr, nodeFact } from "@/test/generators/facts.ts";
    import { TrafficTable } from "@/agent/traffic/traffic-table.ts";
    const stop = new AbortController().signal;
    const table = new TrafficTable(["IPv4", "IPv6"], ["241.0.0.0/8", "198.51.100.0/24", "fd00:241::/108"].map(cidr));
    const nodeWith = (...ranges) => nodeFact({
      cluster: "c1",
      endpointRanges: new Map(ranges.map((texts, i) => ["c" + (i + 2), texts.map(cidr)])),
    });
    const names = async () => (await table.counts()).map(({ family, member }) => family + " " + member);
    console.log(JSON.stringify(await (async () => { ${code} })()));
    process.exit(0);`;
  const [result] = await evaluate(node, script, { env: { PATH: path } });
  return result;
}

const C2 = `["10.2.0.0/16", "fd00:2::/48"]`;
const ALL = ["IPv4", "IPv6"].flatMap((family) =>
  ["c1", "c2", "undefined"].map((member) => `${family} ${member}`),
);

async function withNode(work: (node: Namespace) => Promise<void>): Promise<void> {
  await using lab = await Lab.oneNode();
  await work(lab.node("c1", "n1"));
}

test("nft of Debian 12 and 13 write the table, an agent with the other finds it complete, and it can be deleted", () =>
  withNode(async (node) => {
    const [, newer = ""] = PATHS;
    // nft 1.0 crashes when it reads a map that 1.1 wrote (docs/guides/nftables.md).
    const list = ["env", `PATH=${newer}`, "nft", "-a", "list", "table", ...TABLE.split(" ")];
    for (const [i, path] of PATHS.entries()) {
      const install = `await table.install(nodeWith(${C2}), stop); return names();`;
      assert.deepEqual(await run(node, install, path), ALL);
      const written = await node.exec(list);
      await run(node, install, PATHS[1 - i]);
      assert.equal(await node.exec(list), written, "not written again");
      const gone = "return [await table.uninstall(), await table.uninstall(), await names()];";
      assert.deepEqual(await run(node, gone, path), [7, 0, []]);
    }
    assert.equal(await node.exec(["nft", "list", "ruleset"]), "");
  }));

test("a table that another program has changed is repaired, also one with a chain of the same name in another hook", () =>
  withNode(async (node) => {
    const install = `await table.install(nodeWith(${C2}), stop); return names();`;
    await run(node, install);
    const list = () => node.exec(["nft", "list", "table", ...TABLE.split(" ")]);
    const written = await list();
    const commands = [
      `nft flush chain ${TABLE} counted`,
      ...Object.values(changedChains(TABLE, "sent")),
    ];
    const listings = await run(
      node,
      `const { execFileSync } = await import("node:child_process");
       const shell = (command) => execFileSync("sh", ["-c", command], { encoding: "utf8" });
       const found = [];
       for (const command of ${JSON.stringify(commands)}) {
         shell(command);
         ${install.replace("return names();", "")}
         found.push(shell("nft list table ${TABLE}"));
       }
       return found;`,
    );
    assert.deepEqual(
      listings,
      commands.map(() => written),
    );
    await node.exec([
      "nft",
      `delete table ${TABLE}; add table ${TABLE}; add chain ${TABLE} sent { type filter hook input priority 7; }`,
    ]);
    assert.deepEqual(await run(node, install), ALL);
    assert.equal(await list(), written);
  }));

test("the ranges of a hundred clusters that overlap make a table", () =>
  withNode(async (node) => {
    const ranges = `Array.from({ length: 100 }, (_, i) => ["10.0.0.0/" + (8 + i % 20), "10." + i + ".0.0/16", "fd00:" + i + "::/32", "::/0"])`;
    const count = `await table.install(nodeWith(...${ranges}), stop); return (await names()).length;`;
    assert.equal(await run(node, count), 2 * 102);
  }));

/** An nft that rejects this table while the file `rejects` exists. */
const REJECTING = `#!/bin/sh
[ "$*" = "-f -" ] || exec /usr/sbin/nft "$@"
input=$(cat)
case $input in
  *clusterset-connections*) [ -e "$(dirname "$0")/rejects" ] && { echo "Error: no such thing" >&2; exit 1; } ;;
esac
printf '%s\\n' "$input" | exec /usr/sbin/nft -f -
`;

test("where nft rejects the table, connections are forwarded, and one log line says that they are not counted until they are", async () => {
  let directory = "";
  await using stage = await TrafficStage.create(BACKEND, (lab) => {
    directory = lab.directory;
    writeFileSync(join(directory, "nft"), REJECTING);
    chmodSync(join(directory, "nft"), 0o755);
    writeFileSync(join(directory, "rejects"), "");
    return ["env", `PATH=${directory}:${PATH}`, AGENT];
  });
  assert.ok(existsSync(join(directory, "rejects")));
  await stage.agent.start();
  await stage.connect("c2", 1);
  const lines = () => stage.agent.log.match(/Connections are [^"]*/g);
  await eventually(() => assert.deepEqual(lines(), ["Connections are not counted by cluster"]));
  assert.match(await stage.agent.page("/readyz?verbose"), /\[\?\]traffic not-counted: /);
  assert.deepEqual(await stage.counted(), { IPv4: [], IPv6: [] });
  rmSync(join(directory, "rejects"));
  await eventually(async () => assert.equal((await stage.counted()).IPv6?.[1], "c2 regional 0"));
  await stage.connect("c2", 1);
  assert.equal((await stage.counted()).IPv6?.[1], "c2 regional 2");
  assert.equal(lines()?.at(-1), "Connections are counted by cluster again");
  assert.doesNotMatch(await stage.agent.page("/readyz?verbose"), /not-counted/);
});
