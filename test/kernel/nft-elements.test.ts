import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Lab } from "../lab/lab.ts";
import { evaluate } from "../lab/programs.ts";

/** Runs changes in order; prints what each returns or its error, and all elements after it. */
const SCRIPT = `
  import { readFileSync } from "node:fs";
  import { NftElements } from "@/agent/system/nftables/nft-elements.ts";
  const [table, file] = process.argv.slice(1);
  const { set, steps } = JSON.parse(readFileSync(file, "utf8"));
  const elements = new NftElements("IPv4", table);
  for (const groups of steps) {
    let large = 0;
    const done = await elements
      .run(groups, async () => void large++)
      .then((transactions) => ({ transactions, large }), ({ code, rejected }) => ({ code, rejected }));
    const found = (await elements.list(set)) ?? [];
    console.log(JSON.stringify({ done, found: found.map((one) => one && one.key + " = " + one.value + " " + one.comment).sort() }));
  }`;
const SET = { name: "s", key: ["address", "number"], value: ["address", "port"] } as const;
const TABLE = "table ip t { map s { type ipv4_addr . classid : ipv4_addr . inet_service; }; }";

const add = (...keys: readonly string[]) => ({
  ...{ kind: "add", set: SET },
  elements: keys.map((key) => ({ key, value: "0a000001 80", comment: "x" })),
});
const remove = (...keys: readonly string[]) => ({ kind: "delete", set: SET, keys });
const many = (count: number) => Array.from({ length: count }, (_, i) => `f1000002 ${i}`);

async function run(lab: Lab, table: string, steps: readonly unknown[]) {
  const file = join(lab.directory, "steps.json");
  writeFileSync(file, JSON.stringify({ set: SET, steps }));
  return evaluate(lab.node("c1", "n1"), SCRIPT, { args: [table, file] });
}

test("elements of a map are written, read back and deleted by netlink, as nft shows them", async () => {
  await using lab = await Lab.oneNode();
  const node = lab.node("c1", "n1");
  await node.exec(["nft", TABLE]);
  const [first, second, third, fourth, fifth, large] = await run(lab, "t", [
    [[add("f1000001 0"), add("f1000001 258")]],
    // The group before is in the same transaction, so it is not live either.
    [[add("f1000001 1")], [remove("f1000001 7")]],
    [[{ ...add(), elements: [{ key: "f1000001 0", value: "0a000002 80", comment: "" }] }]],
    [[remove("f1000001 0"), add("f1000001 0")]],
    [],
    [[add(...many(500))], [add(...many(5_000))], [remove(...many(500))]],
  ]);
  const two = ["f1000001 0 = 0a000001 80 x", "f1000001 258 = 0a000001 80 x"];
  assert.deepEqual(first, { done: { transactions: 1, large: 0 }, found: two });
  assert.deepEqual(second, { done: { code: "CSP_NETLINK_FAILED", rejected: false }, found: two });
  assert.deepEqual(third, { done: { code: "CSP_NFT_REFUSED", rejected: true }, found: two });
  assert.deepEqual(fourth, { done: { transactions: 1, large: 0 }, found: two });
  assert.deepEqual(fifth, { done: { transactions: 0, large: 0 }, found: two });
  assert.deepEqual(large, { done: { transactions: 2, large: 1 }, found: two });
  const shown = await node.exec(["nft", "list", "map", "ip", "t", "s"]);
  assert.match(shown, /241\.0\.0\.1 \. 0:102 comment "x" : 10\.0\.0\.1 \. 80/);
});

test("a table's rules, and what no rule shows, are read by netlink as nft lists them, without those of other tables", async () => {
  await using lab = await Lab.oneNode();
  const node = lab.node("c1", "n1");
  const base = "chain b { type filter hook forward priority -7; policy drop; };";
  const rules = `chain c { accept comment "one"; drop; }; chain d { accept comment "three"; }; ${base}`;
  await node.exec([
    "nft",
    `table ip t { ${rules} }; table ip u { flags dormant; chain c { drop comment "u"; }; }`,
  ]);
  const script = `
    import { listTable } from "@/agent/system/nft-table.ts";
    import { tableRules } from "@/agent/system/nftables/table-rules.ts";
    const show = ({ rules, hooks, hasFlags }) => console.log(JSON.stringify({ rules, hooks: [...hooks], hasFlags }));
    for (const table of ["t", "u", "absent"]) show(await tableRules("IPv4", table, ["b", "c", "absent"]));
    for (const table of ["t", "u"]) show(await listTable("ip " + table, true));`;
  const found = [
    {
      rules: ["one", "", "three"],
      hooks: [["b", "filter hook forward priority -7; policy drop"]],
      hasFlags: false,
    },
    { rules: ["u"], hooks: [], hasFlags: true },
  ];
  const nothing = { rules: [], hooks: [], hasFlags: false };
  assert.deepEqual(await evaluate(node, script), [...found, nothing, ...found]);
});

test("without the table there are no elements, and changes are rejected, not those of a service", async () => {
  await using lab = await Lab.oneNode();
  const [one] = await run(lab, "t", [[[add("f1000001 0")]]]);
  assert.deepEqual(one, { done: { code: "CSP_NETLINK_FAILED", rejected: false }, found: [] });
});
