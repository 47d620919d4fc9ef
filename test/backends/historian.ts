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
import { KernelChange } from "../../agent/backends/kernel-table.ts";
import type { Held } from "../../agent/backends/objects.ts";
import { Model } from "../../agent/model/model.ts";
import { FAMILIES } from "../../api/address.ts";
import { CodedError, codeOf } from "../../common/errors.ts";
import { backendTitled } from "../backends.ts";
import { pureTable } from "../doubles/pure-table.ts";
import { anyEvent, applyEvent, type Event } from "../generators/histories.ts";
import { fromScratch, optionsOf, setImport } from "../states/replay.ts";
import { openDataplane, removeAll } from "./open-backend.ts";

const [, , title = "", word = "", seed = "", numRuns = ""] = process.argv;
const tested = backendTitled(title);
const family = FAMILIES.find((one) => one === word) ?? assert.fail(word);
const { clusterSetCidrs, explicitVipCidrs, masquerade } = optionsOf(family);
const pure = tested.pure(family);
const dataplane = await openDataplane(tested, family, clusterSetCidrs, {
  explicitVipCidrs,
  masquerade: masquerade.mode,
  podCidrs: masquerade.podCidrs,
});
/** Of the dataplane as this node supports it. */
const opened = pureTable(dataplane.layout);
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
let ruleset = opened.ruleset();
let held: Held = new Map();
let states = 0;
const faults: string[] = [];

/** As after a failure, drift and a start. Returns how much was written. */
async function passAll(): Promise<number> {
  ruleset = opened.ruleset();
  for (const key of model.keys()) setImport(ruleset, model, key, family);
  held = await read();
  const tx = finished(opened.diff(held, finished(ruleset.take())));
  await write(tx);
  return tx.writes;
}

async function read(): Promise<Held> {
  return (await dataplane.read("all", new Map())).held;
}

async function write(tx: KernelChange): Promise<void> {
  tx.settle(held, tx.commands.empty ? undefined : await dataplane.write(tx.commands));
}

async function play({ events, fault, part }: Step): Promise<void> {
  if (fault === "restart") assert.equal(await passAll(), 0, "a restart writes nothing");
  for (const event of events) applyEvent(model, event);
  for (const key of model.takeDirty().keys()) setImport(ruleset, model, key, family);
  const tx = finished(opened.diff(held, finished(ruleset.take())));
  const command = CHANGES[fault];
  if (command !== undefined) spawnSync("sh", ["-c", command]);
  if (fault.endsWith("program")) await dataplane.close();
  if (fault === "no program") process.env.PATH = "";
  if (fault === "killed program") process.env.PATH = `${killed}:${PATH}`;
  try {
    if (fault === "half a transaction") {
      await tested.applyPart?.(family, tx, part);
      throw new CodedError("CSP_EXEC_FAILED", fault);
    }
    await write(tx);
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
  const { layout } = dataplane;
  const find = async () => {
    const change = layout.garbage?.(held, await read());
    return change && new KernelChange(change, layout.commands(change, held));
  };
  const garbage = await find();
  assert.equal(garbage?.writes ?? 0, 0, garbage?.toString());
  if (garbage !== undefined) await write(garbage);
  assert.ok((await find())?.empty ?? true, "all garbage is deleted");
}

/** Whenever a repair writes, a comparison has found a reason. */
async function assertFound(): Promise<void> {
  const drift = opened.compare(held, await read());
  const written = await passAll();
  assert.ok(written === 0 || drift.length > 0, `${written} written without a reason`);
  faults.push(...drift.slice(0, 1).map(({ reason }) => reason));
}

async function assertAsFromScratch(): Promise<void> {
  const scratch = pure.shown(fromScratch(pure, model, family));
  assert.deepEqual(pure.shown(held), scratch);
  const found = await read();
  assert.deepEqual(pure.shown(found, held), scratch);
  const again = finished(opened.diff(held, finished(ruleset.take())));
  assert.equal(again.toString(), "", "a second pass writes nothing");
  assert.deepEqual(opened.compare(held, found), [], "a comparison finds nothing");
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
await dataplane.close();
console.log(JSON.stringify({ states, faults }));
