import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FAMILIES } from "../../api/address.ts";
import { Lab } from "../lab/lab.ts";

const HISTORIAN = `${import.meta.dirname}/historian.ts`;
/** So many states there are, of eight turns, their end and their reverse. */
const STATES = 10;
/** Emulation is slow. */
const TIMEOUT = 300_000;

describe("histories, in the kernel", () => {
  let lab: Lab;
  before(async () => {
    const nodes = FAMILIES.map((name) => ({ name: name.toLowerCase() }));
    lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
  });
  after(() => lab.remove());

  for (const family of FAMILIES) {
    test(`${family}: whatever goes wrong between two states, what is read back after the next is as from scratch`, async (t) => {
      const seed = `${Date.now() % 100_000}`;
      const node = lab.node("c1", family.toLowerCase());
      const argv = [process.execPath, HISTORIAN, family, seed, "1"];
      const { code, stdout, stderr } = await node.run(argv, { timeout: TIMEOUT });
      assert.equal(code, 0, `seed ${seed}:\n${stderr}`);
      const { states, faults } = JSON.parse(stdout) as { states: number; faults: string[] };
      t.diagnostic(`seed ${seed}: ${states} states; ${faults.join(", ")}`);
      assert.equal(states, STATES);
    });
  }
});
