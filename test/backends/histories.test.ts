import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FAMILIES } from "../../api/address.ts";
import { BACKENDS } from "../backends.ts";
import { Lab } from "../lab/lab.ts";
import { SLOWNESS } from "../lab/slowness.ts";
import { SEED } from "../seed.ts";

const HISTORIAN = `${import.meta.dirname}/historian.ts`;
/** Of each: eight steps, the end and the reverse. */
const STATES = 10;
/** Emulation is slow. */
const RUNS = SLOWNESS > 1 ? 1 : Number(process.env.RUNS ?? 5);
const TIMEOUT = 300_000;

for (const { title } of BACKENDS) {
  describe(`histories in the kernel, ${title}`, () => {
    let lab: Lab;
    before(async () => {
      const nodes = FAMILIES.map((name) => ({ name: name.toLowerCase() }));
      lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
    });
    after(() => lab.remove());

    for (const family of FAMILIES) {
      test(`${family}: after any fault between two states, the next state is that of a fresh start`, async (t) => {
        const node = lab.node("c1", family.toLowerCase());
        const argv = [process.execPath, HISTORIAN, title, family, `${SEED}`, `${RUNS}`];
        const { code, stdout, stderr } = await node.run(argv, { timeout: TIMEOUT });
        assert.equal(code, 0, `SEED=${SEED}:\n${stderr}`);
        const { states, faults } = JSON.parse(stdout) as { states: number; faults: string[] };
        t.diagnostic(`SEED=${SEED}: ${states} states; ${faults.join(", ")}`);
        assert.equal(states, RUNS * STATES);
      });
    }
  });
}
