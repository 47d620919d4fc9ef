import { describe, test } from "node:test";
import { FAMILIES } from "../../api/address.ts";
import { AFTER } from "./after.ts";
import { ALIVE } from "./alive.ts";
import { CALLERS } from "./callers.ts";
import { DEAD } from "./dead.ts";
import { play } from "./history.ts";
import { BLOCKED, REPLICAS, ROUND_TRIPS } from "./replicas.ts";
import { REPORTS } from "./reports.ts";

for (const [title, histories] of [
  ["something dies", DEAD],
  ["nothing dies", ALIVE],
  ["some or most replicas die", REPLICAS],
  ["something is blocked", BLOCKED],
  ["answers take time", ROUND_TRIPS],
  ["what is reported", REPORTS],
  ["one thing after another", AFTER],
  ["clients are new, or call seldom", CALLERS],
] as const) {
  describe(title, () => {
    for (const [i, history] of histories.entries()) {
      // Decisions do not depend on the family: rows take turns.
      const family = FAMILIES[i % FAMILIES.length] ?? "IPv4";
      for (const seed of history.seeds ?? [1])
        test(`${history.name} (${family}, ${seed})`, async () => {
          await play(history, seed, family);
        });
    }
  });
}
