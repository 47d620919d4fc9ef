import { describe, test } from "node:test";
import { assertMassLoss } from "../support/mass-loss.ts";

describe("a restart with the wrong directory of manifests", { concurrency: true }, () => {
  for (const flavour of ["nft", "legacy"] as const) {
    test(`takes no rule away for 30 seconds, holds up nothing that is wanted, and is then believed: ${flavour}`, () =>
      assertMassLoss(["--iptables-flavour", flavour], `iptables-${flavour}-save`));
  }
});
