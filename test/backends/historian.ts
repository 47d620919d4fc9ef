// Replays histories on the kernel of its own network namespace, with faults between two states, and compares with a fresh start
// after each. Arguments: the backend's title, the family, a seed, and the number of histories. Prints the number of states, and
// the faults that occurred; ends with an error at the first difference.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { finished } from "../../agent/backends/backend.ts";
import { Model } from "../../agent/model/model.ts";
import { FAMILIES } from "../../api/address.ts";
import { CodedError, codeOf } from "../../common/errors.ts";
import { backendTitled } from "../backends.ts";
import { anyEvent, applyEvent, type Event } from "../generators/histories.ts";
import { fromScratch, optionsOf, setImport } from "../states/replay.ts";
import { openBackend, removeAll } from "./open-backend.ts";

const [, , title = "", word = "", seed = "", numRuns = ""] = process.argv;
const tested = backendTitled(title);
const family = FAMILIES.find((one) => one === word) ?? assert.fail(word);
const { clusterSetCidrs, masquerade } = optionsOf(family);
const pure = tested.pure(family);
const backend = await openBackend(tested, family, clusterSetCidrs, {
  masquerade: masquerade.mode,
  podCidrs: masquerade.podCidrs,
});
const PATH = process.env.PATH ?? "";
/** A directory with programs that are killed as soon as they run. */
const killed = mkdtempSync(join(tmpdir(), "historian-"));
for (const name of tested.writers) {
  writeFileSync(join(killed, name), "#!/bin/sh\nkill -9 $$\n");
  chmodSync(join(killed, name), 0o755);
}

const CHANGES = tested.foreignChanges(family);
const HARMLESS = ["none", "restart", "garbage collection"];
const FAULTS = [
  ...HARMLESS,
  ...(tested.applyPart === undefined ? [] : ["half a transaction"]),
  ...["no program", "killed program"],
  ...Object.keys(CHANGES),
];

interface Step {
  readonly events: readonly Event[];
  readonly fault: string;
  /** The part of a transaction that is applied. */
  readonly part: number;
}

const anySteps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    events: fc.array(anyEvent, { minLength: 2, maxLength: 8 }),
    fault: fc.constantFrom(...FAULTS),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { minLength: 8, maxLength: 8 },
);

let model = new Model();
let ruleset = backend.ruleset();
let state = backend.empty();
let states = 0;
const faults: string[] = [];

/** As after a failure, drift and a start. Returns how much was written. */
async function passAll(): Promise<number> {
  ruleset = backend.ruleset();
  for (const key of model.keys()) setImport(ruleset, model, key, family);
  state = await backend.read();
  const tx = finished(backend.diff(state, finished(ruleset.take())));
  if (!tx.empty) await backend.apply(tx, state);
  return tx.writes;
}

async function play({ events, fault, part }: Step): Promise<void> {
  if (fault === "restart") assert.equal(await passAll(), 0, "a restart writes nothing");
  for (const event of events) applyEvent(model, event);
  for (const key of model.takeDirty().keys()) setImport(ruleset, model, key, family);
  const tx = finished(backend.diff(state, finished(ruleset.take())));
  const command = CHANGES[fault];
  if (command !== undefined) spawnSync("sh", ["-c", command]);
  if (fault.endsWith("program")) await backend.close();
  if (fault === "no program") process.env.PATH = "";
  if (fault === "killed program") process.env.PATH = `${killed}:${PATH}`;
  try {
    if (fault === "half a transaction") {
      await tested.applyPart?.(family, tx, part);
      throw new CodedError("CSP_EXEC_FAILED", fault);
    }
    if (!tx.empty) await backend.apply(tx, state);
    process.env.PATH = PATH;
    if (fault === "garbage collection") await collectGarbage();
    if (command !== undefined) await assertFound();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined || HARMLESS.includes(fault)) throw error;
    faults.push(`${fault}: ${code}`);
    process.env.PATH = PATH;
    await passAll();
  }
  await assertAsFromScratch();
}

async function collectGarbage(): Promise<void> {
  const { garbage } = await backend.check(state);
  assert.equal(garbage?.writes ?? 0, 0, garbage?.toString());
  if (garbage !== undefined) await backend.apply(garbage, state);
  assert.equal((await backend.check(state)).garbage, undefined, "all garbage is deleted");
}

/** Whenever a repair writes, a comparison has found a reason. */
async function assertFound(): Promise<void> {
  const drift = backend.compare(state, await backend.read());
  const written = await passAll();
  assert.ok(written === 0 || drift.length > 0, `${written} written without a reason`);
  faults.push(...drift.slice(0, 1).map(({ reason }) => reason));
}

async function assertAsFromScratch(): Promise<void> {
  const scratch = pure.shown(fromScratch(pure, model, family));
  assert.deepEqual(pure.shown(state), scratch);
  const found = await backend.read();
  assert.deepEqual(pure.shown(found, state), scratch);
  const again = finished(backend.diff(state, finished(ruleset.take())));
  assert.equal(again.toString(), "", "a second pass writes nothing");
  assert.deepEqual(backend.compare(state, found), [], "a comparison finds nothing");
  states++;
}

for (const steps of fc.sample(anySteps, { seed: Number(seed), numRuns: Number(numRuns) })) {
  model = new Model();
  await passAll();
  for (const step of steps) await play(step);
  assert.ok((await removeAll(tested, ...clusterSetCidrs)) > 0);
  assert.equal(await removeAll(tested, ...clusterSetCidrs), 0, "a second removal deletes nothing");
  await passAll();
  await assertAsFromScratch();
  // The same events in reverse, in one step.
  model = new Model();
  for (const { events } of steps.toReversed()) for (const event of events) applyEvent(model, event);
  await passAll();
  await assertAsFromScratch();
}
await removeAll(tested, ...clusterSetCidrs);
await backend.close();
console.log(JSON.stringify({ states, faults }));
