// Plays histories on the kernel of its own network namespace by way of the IPVS backend, with what may go wrong between two
// states, and compares with a fresh start after each. Arguments: the family, a seed, and how many histories. Prints how
// many states there were, and what went wrong between them; ends with an error at the first difference.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { IpvsBackend } from "../../agent/backends/ipvs/ipvs.ts";
import { removeOwn } from "../../agent/backends/ipvs/remove.ts";
import { runSteps } from "../../agent/backends/ipvs/restore.ts";
import { setUp } from "../../agent/backends/ipvs/support.ts";
import { Model } from "../../agent/model/model.ts";
import { NftProcess } from "../../agent/system/nft-process.ts";
import { FAMILIES } from "../../api/address.ts";
import { CodedError, codeOf } from "../../common/errors.ts";
import { applyEvent } from "../support/history.ts";
import { fromScratch, optionsOf, pureIpvs, setImport } from "../support/replayed.ts";
import { anyEvent, type Event } from "../support/worlds.ts";

const [, , word = "", seed = "", numRuns = ""] = process.argv;
const family = FAMILIES.find((one) => one === word) ?? assert.fail(word);
const ip = family === "IPv4" ? "ip" : "ip6";
const pure = pureIpvs(family);
const backend = new IpvsBackend({ ...optionsOf(family), scheduler: "rr" });
const nft = new NftProcess();
const PATH = process.env.PATH ?? "";
/** A directory with an nft that is killed as soon as it runs. */
const killed = mkdtempSync(join(tmpdir(), "historian-"));
writeFileSync(join(killed, "nft"), "#!/bin/sh\nkill -9 $$\n");
chmodSync(join(killed, "nft"), 0o755);

/** What others do to the kernel; each may fail for want of what it is done to. */
const HARM: Readonly<Record<string, readonly string[]>> = {
  "all servers": ["ipvsadm", "-C"],
  "the table": ["nft", "delete", "table", ip, "csp-ipvs"],
  "the device": ["ip", "link", "delete", "csp-ipvs0"],
  "the ports": ["nft", "flush", "set", ip, "csp-ipvs", "served"],
};
const FAULTS = ["nothing", "restart", "tidy", "half", "no nft", "nft dies", ...Object.keys(HARM)];

interface Turn {
  readonly events: readonly Event[];
  readonly fault: string;
  /** A transaction ends after this part of its steps. */
  readonly part: number;
}

const anyTurns: fc.Arbitrary<Turn[]> = fc.array(
  fc.record({
    events: fc.array(anyEvent, { minLength: 2, maxLength: 8 }),
    fault: fc.constantFrom(...FAULTS),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { minLength: 8, maxLength: 8 },
);

let model = new Model();
let ruleset = backend.ruleset();
let believed = backend.nothing();
let states = 0;
/** What went wrong on the way, in a word each. */
const faults: string[] = [];

/** What follows a failure, a drift and a start. Gives how much was written. */
async function passAll(): Promise<number> {
  ruleset = backend.ruleset();
  for (const key of model.keys()) setImport(ruleset, model, key, family);
  believed = await backend.read();
  const tx = backend.diff(believed, ruleset.take());
  if (!tx.empty) await backend.apply(tx, believed);
  return tx.writes;
}

async function play({ events, fault, part }: Turn): Promise<void> {
  if (fault === "restart") assert.equal(await passAll(), 0, "a restart writes nothing");
  for (const event of events) applyEvent(model, event);
  for (const key of model.takeDirty().keys()) setImport(ruleset, model, key, family);
  const tx = backend.diff(believed, ruleset.take());
  const [program, ...args] = HARM[fault] ?? [];
  if (program !== undefined) spawnSync(program, args);
  if (fault.includes("nft")) await backend.close();
  if (fault === "no nft") process.env.PATH = "";
  if (fault === "nft dies") process.env.PATH = `${killed}:${PATH}`;
  try {
    if (fault === "half") {
      await runSteps(family, tx.steps.slice(0, Math.floor(part * (tx.steps.length + 1))), nft);
      throw new CodedError("CSP_EXEC_FAILED", "half of it");
    }
    if (!tx.empty) await backend.apply(tx, believed);
    process.env.PATH = PATH;
    if (fault === "tidy") await tidy();
    if (program !== undefined) await assertTold();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined || ["nothing", "restart", "tidy"].includes(fault)) throw error;
    faults.push(`${fault}: ${code}`);
    process.env.PATH = PATH;
    await passAll();
  }
  await assertAsFromScratch();
}

async function tidy(): Promise<void> {
  const tx = await backend.ended(believed);
  assert.equal(tx.writes, 0, tx.toString());
  await backend.apply(tx, believed);
  for (const { destinations } of believed.servers.values())
    for (const { weight } of destinations.values())
      assert.equal(weight, 1, "what was idle is gone");
}

/** Whatever there is to mend, a look has found a reason for it. */
async function assertTold(): Promise<void> {
  const drift = backend.compare(believed, await backend.read());
  const written = await passAll();
  assert.ok(written === 0 || drift.length > 0, `${written} written, and nobody knows why`);
  faults.push(...drift.slice(0, 1).map(({ reason }) => reason));
}

async function assertAsFromScratch(): Promise<void> {
  const scratch = pure.shown(fromScratch(pure, model, family));
  assert.deepEqual(pure.shown(believed), scratch);
  const found = await backend.read();
  assert.deepEqual(pure.shown({ ...found, leaving: believed.leaving }), scratch);
  assert.equal(backend.diff(believed, ruleset.take()).toString(), "", "a second pass does nothing");
  assert.deepEqual(backend.compare(believed, found), [], "and a look finds nothing");
  states++;
}

const { lacks } = await setUp({ families: FAMILIES, ranges: [], excluded: [], scheduler: "rr" });
assert.deepEqual(lacks, []);
for (const turns of fc.sample(anyTurns, { seed: Number(seed), numRuns: Number(numRuns) })) {
  model = new Model();
  await passAll();
  for (const turn of turns) await play(turn);
  assert.ok((await removeOwn(family, { ranges: [optionsOf(family).clusterSetCidr] })) > 0);
  assert.equal(
    await removeOwn(family, { ranges: [optionsOf(family).clusterSetCidr] }),
    0,
    "nothing is left to remove",
  );
  await passAll();
  await assertAsFromScratch();
  // The same from the last state to the first, and all at once.
  model = new Model();
  for (const { events } of turns.toReversed()) for (const event of events) applyEvent(model, event);
  await passAll();
  await assertAsFromScratch();
}
await removeOwn(family, { ranges: [optionsOf(family).clusterSetCidr] });
await Promise.all([nft.close(), backend.close()]);
console.log(JSON.stringify({ states, faults }));
