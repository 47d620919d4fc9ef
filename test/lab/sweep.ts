/**
 * Removes what labs of dead owners have left. `sweep.ts` looks for all of them; `sweep.ts RUN` waits for the
 * owner of one run to die (it is dying: its pipe to the watchdog has closed) and removes that one. What
 * belongs to a living owner is never touched.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { deadRuns, isAlive, removeRun, runOf } from "./removal.ts";

const [id] = process.argv.slice(2);
if (id === undefined) {
  for (const run of deadRuns()) {
    await removeRun(run);
    console.log(`removed ${run.id}`);
  }
} else {
  const run = runOf(id);
  if (run === undefined) throw new Error(`"${id}" is not the id of a run`);
  for (let waits = 0; isAlive(run) && waits < 1_000; waits++) await sleep(10);
  if (!isAlive(run)) await removeRun(run);
}
