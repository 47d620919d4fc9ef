import { describe, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { assertMassLoss } from "../stages/mass-loss.ts";

describe("a restart with the wrong directory of manifests", { concurrency: true }, () => {
  for (const backend of BACKENDS) {
    test(`writes and deletes nothing for 30 seconds, and then takes effect: ${backend.title}`, () =>
      assertMassLoss(backend));
  }
});
