import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cidr } from "../../../test/generators/facts.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import { UNCHANGED } from "../backend.ts";
import { IptablesBackend } from "./backend.ts";

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
  readonly backend: IptablesBackend;

  constructor(flavour: "nft" | "legacy") {
    const commits = new NftCommits(async () => {
      if (this.generation === undefined) throw new Error("no netlink");
      return this.generation;
    });
    this.backend = new IptablesBackend({
      ...{ family: "IPv4", clusterSetCidrs: [cidr("241.0.0.0/8")], flavour },
      masquerade: { mode: "none", podCidrs: [] },
      within: ["env", `DIRECTORY=${this.#directory}`, "sh", "-c", TOOL],
      ...(flavour === "nft" && { commits }),
    });
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
  const { backend } = node;
  const state = await backend.read();
  assert.deepEqual((await backend.check(state)).drift, []);
  node.calls();
  for (let i = 0; i < 3; i++) assert.deepEqual(await backend.check(state), UNCHANGED);
  assert.equal(node.calls(), 0);
  node.generation = 2;
  const { drift, reading } = await backend.check(state);
  assert.deepEqual([drift, reading], [[], "prompted"]);
  assert.ok(node.calls() > 0);
});

test("with nft, but without the kernel's count, every check reads the rules, within the budget of a node at rest", async () => {
  using node = new Node("nft");
  node.generation = undefined;
  const state = await node.backend.read();
  for (let i = 0; i < 2; i++) {
    node.calls();
    assert.equal((await node.backend.check(state)).reading, "routine");
    assert.ok(node.calls() > 0);
  }
});

for (const flavour of ["nft", "legacy"] as const) {
  test(`a changed DNAT rule of one service is found by each check until it is repaired, ${flavour}`, async () => {
    using node = new Node(flavour);
    const { backend } = node;
    const state = await backend.read();
    assert.deepEqual((await backend.check(state)).drift, []);
    node.rule(RULE.replace("10.1.0.11", "10.6.6.6"));
    node.generation = 2;
    for (let i = 0; i < 2; i++) {
      const { drift } = await backend.check(state);
      assert.deepEqual(drift, [{ reason: "chain-changed", what: "nat CSP-SVC-A" }]);
    }
  });
}
