import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { cidr } from "../../../test/generators/facts.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import { KernelTable, UNCHANGED } from "../kernel-table.ts";
import { differences, type Held } from "../objects.ts";
import { JumpOrder, type ListChains } from "./jump-order.ts";
import { ONCE } from "./jumps.ts";
import { Iptables } from "./kernel.ts";
import { IptablesLayout } from "./layout.ts";
import { foundOf, SaveParser } from "./listing.ts";
import { BASES, isJump, type Jump, TABLES } from "./object-id.ts";
import { digestOf } from "./rules.ts";

const MASQUERADE = { mode: "none", podCidrs: [] } as const;
const OPTIONS = { family: "IPv4", explicitVipCidrs: [], masquerade: MASQUERADE } as const;

const TO_A: Jump = "nat OUTPUT -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-A";
const TO_GUARD: Jump =
  "filter FORWARD -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-GUARD";
const TO_M: Jump = "nat POSTROUTING -m conntrack --ctstate DNAT -j CSP-M";
const HELD: Held = new Map([
  ["nat CSP-A", { digest: digestOf(["-A CSP-A -g CSP-B"]) }],
  ["nat CSP-M", { digest: digestOf([]) }],
  ["nat CSP-B", { digest: digestOf(["-A CSP-B -j RETURN"]) }],
  ["filter CSP-GUARD", { digest: digestOf(["-A CSP-GUARD -j DROP"]) }],
  ...[TO_GUARD, TO_A, TO_M].map((jump) => [jump, { digest: ONCE }] as const),
]);
const line = (jump: Jump) => `-A ${jump.slice(jump.indexOf(" ") + 1)}`;
const MATCHING: Readonly<Record<string, readonly string[]>> = {
  "nat OUTPUT": [line(TO_A)],
  "nat CSP-A": ["-A CSP-A -g CSP-B"],
  "nat POSTROUTING": [line(TO_M)],
  "nat CSP-M": [],
  "filter FORWARD": [line(TO_GUARD)],
  "filter CSP-GUARD": ["-A CSP-GUARD -j DROP"],
  "nat CSP-B": ["-A CSP-B -j RETURN"],
};

/** What a check finds in a kernel that holds these chains. */
async function look(change: Readonly<Record<string, readonly string[] | undefined>>) {
  const kernel = { ...MATCHING, ...change };
  const list: ListChains = async (keys, keep) =>
    new Map(keys.map((key) => [key, kernel[key]?.filter(keep)]));
  const held: Held = new Map();
  for (const table of TABLES) {
    const parser = new SaveParser(table, held);
    const chains = Object.entries(kernel).filter(([key, lines]) => lines && key.startsWith(table));
    for (const [key] of chains) parser.line(`:${key.slice(table.length + 1)} - [0:0]`);
    for (const rule of chains.flatMap(([, lines]) => lines ?? [])) parser.line(rule);
    parser.end();
  }
  const bases = new Map(BASES.map((key) => [key, kernel[key]]));
  const behind = await new JumpOrder(list).evaluate([...held.keys()].filter(isJump), bases);
  const layout = new IptablesLayout({ ...OPTIONS, clusterSetCidrs: [] });
  const found = foundOf(held, bases, behind);
  return layout.drift(differences(HELD, found.held), HELD, found);
}

describe("a drift check", () => {
  test("finds a missing jump, and names no suspect while other jumps are left", async () => {
    const drift = await look({
      "nat OUTPUT": ["-A OUTPUT -j KUBE-SERVICES"],
    });
    assert.deepEqual(drift, [{ reason: "jump-missing", what: TO_A }]);
  });

  test("finds an additional jump in any chain that it lists", async () => {
    const drift = await look({ "nat POSTROUTING": [line(TO_M), "-A POSTROUTING -j CSP-A"] });
    assert.deepEqual(drift, [{ reason: "jump-extra", what: "nat POSTROUTING -j CSP-A" }]);
    const doubled = await look({ "nat OUTPUT": [line(TO_A), line(TO_A)] });
    assert.deepEqual(doubled, [{ reason: "jump-extra", what: TO_A }]);
  });

  test("finds a jump behind another program's rule, and names the program", async () => {
    const rule = "-A FORWARD -i eth0 -j DOCKER-USER";
    const drift = await look({
      "filter FORWARD": [rule, line(TO_GUARD)],
      "filter DOCKER-USER": ["-A DOCKER-USER -s 10.0.0.0/8 -j ACCEPT"],
    });
    const suspect = `Docker: ${rule} … -A DOCKER-USER -s 10.0.0.0/8 -j ACCEPT`;
    assert.deepEqual(drift, [{ reason: "jump-behind", what: TO_GUARD, suspect }]);
  });

  test("names the owners of rules in a flushed table, and reports that first", async () => {
    const drift = await look({
      "filter FORWARD": [],
      "filter CSP-GUARD": undefined,
      "nat OUTPUT": ["-A OUTPUT -j ufw-x", "-A OUTPUT -j OUTPUT_direct", "-A OUTPUT -j ACCEPT"],
      "nat CSP-A": undefined,
      "nat POSTROUTING": [],
    });
    const suspect = "firewalld, ufw";
    assert.deepEqual(drift, [
      { reason: "chain-missing", what: "nat CSP-A", suspect },
      { reason: "jump-missing", what: TO_A, suspect },
      { reason: "jump-missing", what: TO_M, suspect },
      { reason: "chain-missing", what: "filter CSP-GUARD" },
      { reason: "jump-missing", what: TO_GUARD },
    ]);
  });
});

/** In place of the tools: logs how it is called, and lists an endpoint's rule from a file. */
const TOOL = `echo "$0 $@" >>"$DIRECTORY/calls"
[ "$2" = nat ] || exit 0
echo ":CSP-SVC-A - [0:0]"
cat "$DIRECTORY/rule"`;
const RULE = "-A CSP-SVC-A -p tcp -j DNAT --to-destination 10.1.0.11:8080";

class Node implements Disposable {
  readonly #directory = mkdtempSync(join(tmpdir(), "csp-backend-"));
  /** The kernel's count of commits. */
  generation: number | undefined = 1;
  readonly table: KernelTable;

  constructor(flavour: "nft" | "legacy") {
    const commits = new NftCommits(async () => {
      if (this.generation === undefined) throw new Error("no netlink");
      return this.generation;
    });
    const dataplane = new Iptables({
      ...{ ...OPTIONS, clusterSetCidrs: [cidr("241.0.0.0/8")], flavour },
      within: ["env", `DIRECTORY=${this.#directory}`, "sh", "-c", TOOL],
      ...(flavour === "nft" && { commits }),
    });
    this.table = new KernelTable(dataplane);
    this.rule(RULE);
  }

  /** Replaces the endpoint's rule. */
  rule(text: string): void {
    writeFileSync(join(this.#directory, "rule"), `${text}\n`);
  }

  /** How often the tools were called since the last time. */
  calls(): number {
    const file = join(this.#directory, "calls");
    const calls = readFileSync(file, { encoding: "utf8", flag: "a+" }).trim().split("\n");
    rmSync(file);
    return calls.filter((call) => call !== "").length;
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true });
  }
}

test("with nft, rules are read again only after another program has committed something", async () => {
  using node = new Node("nft");
  const { table } = node;
  await table.read();
  assert.deepEqual((await table.check()).drift, []);
  node.calls();
  for (let i = 0; i < 3; i++) assert.deepEqual(await table.check(), UNCHANGED);
  assert.equal(node.calls(), 0);
  node.generation = 2;
  const { drift, reading } = await table.check();
  assert.deepEqual([drift, reading], [[], "prompted"]);
  assert.ok(node.calls() > 0);
});

test("with nft, but without the kernel's count, every check reads the rules, within the budget of a node at rest", async () => {
  using node = new Node("nft");
  node.generation = undefined;
  await node.table.read();
  for (let i = 0; i < 2; i++) {
    node.calls();
    assert.equal((await node.table.check()).reading, "routine");
    assert.ok(node.calls() > 0);
  }
});

for (const flavour of ["nft", "legacy"] as const) {
  test(`a changed DNAT rule of one service is found by each check until it is repaired, ${flavour}`, async () => {
    using node = new Node(flavour);
    const { table } = node;
    await table.read();
    assert.deepEqual((await table.check()).drift, []);
    node.rule(RULE.replace("10.1.0.11", "10.6.6.6"));
    node.generation = 2;
    for (let i = 0; i < 2; i++) {
      const { drift } = await table.check();
      assert.deepEqual(drift, [{ reason: "chain-changed", what: "nat CSP-SVC-A" }]);
    }
  });
}
