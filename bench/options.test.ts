import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf, type Effort, effortOf, exportsOf, optionsOf, PARTS } from "./options.ts";

test("SIZE is the largest size, QUICK leaves out 10,000, and both can be set", () => {
  assert.deepEqual(optionsOf([], {}).sizes, [1, 1_000, 10_000]);
  assert.deepEqual(optionsOf([], { QUICK: "1" }).sizes, [1, 1_000]);
  assert.deepEqual(optionsOf([], { QUICK: "0", SIZE: "" }).sizes, [1, 1_000, 10_000]);
  assert.deepEqual(optionsOf([], { QUICK: "1", SIZE: "5000" }).sizes, [1, 1_000, 5_000]);
  assert.deepEqual(optionsOf([], { SIZE: "40" }).sizes, [1, 40]);
  assert.deepEqual(optionsOf([], { SIZE: "1" }).sizes, [1]);
});

test("Parts are chosen by name, and unknown parts and sizes are rejected", () => {
  assert.deepEqual(optionsOf([], {}).parts, PARTS);
  assert.deepEqual(optionsOf(["--part", "source"], {}).parts, ["source"]);
  assert.throws(() => optionsOf(["--part", "sauce"], {}), /expected one of kernel, packets/);
  assert.throws(() => optionsOf([], { SIZE: "many" }), /SIZE=many/);
  assert.throws(() => optionsOf(["--wirte"], {}), /--wirte/);
});

test("Backends are chosen by title, and unknown ones are rejected", () => {
  const titles = (argv: readonly string[]) =>
    optionsOf(argv, {}).backends.map(({ title }) => title);
  assert.deepEqual(titles([]), ["iptables-nft", "iptables-legacy", "nftables"]);
  assert.deepEqual(titles(["--backend", "nftables"]), ["nftables"]);
  assert.equal(optionsOf(["--backend", "nftables"], {}).whole, false);
  assert.throws(() => optionsOf(["--backend", "iptables"], {}), /expected one of iptables-nft/);
});

test("QUICK leaves out the controller and the virtual machine unless they are requested", () => {
  for (const part of ["controller", "ipvs"] as const) {
    assert.ok(optionsOf([], {}).parts.includes(part));
    assert.ok(!optionsOf([], { QUICK: "1" }).parts.includes(part));
    assert.deepEqual(optionsOf(["--part", part], { QUICK: "1" }).parts, [part]);
  }
});

test("The command in a report repeats the run", () => {
  for (const [argv, env, command] of [
    [[], {}, "make bench"],
    [["--write"], { QUICK: "1", SIZE: "50" }, "make bench QUICK=1 SIZE=50"],
    [["--part", "ipvs"], {}, "node bench/main.ts --part ipvs"],
    [
      ["--part=ipvs", "--part=kernel"],
      { SIZE: "5" },
      "SIZE=5 node bench/main.ts --part ipvs --part kernel",
    ],
    [
      ["--part=kernel", "--backend=nftables"],
      {},
      "node bench/main.ts --part kernel --backend nftables",
    ],
  ] as const) {
    assert.equal(commandOf(optionsOf(argv, env)), command);
  }
});

test("QUICK never increases the rounds", () => {
  for (const services of [1, 1_000, 10_000]) {
    const [quick, full] = [
      effortOf({ quick: true }, services),
      effortOf({ quick: false }, services),
    ];
    for (const what of Object.keys(full) as (keyof Effort)[])
      assert.ok(quick[what] <= full[what], what);
  }
});

test("Clusters export at most a thousand services, fewer with QUICK, and never more than SIZE", () => {
  const of = (env: NodeJS.ProcessEnv) => exportsOf(optionsOf([], env));
  assert.equal(of({}), 1_000);
  assert.equal(of({ QUICK: "1" }), 200);
  assert.equal(of({ SIZE: "40" }), 40);
});
