import { test } from "node:test";
import { play, scenarios } from "../scenarios/play.ts";
import { RealStage } from "../scenarios/real-stage.ts";

for (const { name, scenario } of scenarios()) {
  for (const flavour of ["nft", "legacy"]) {
    test(`scenario ${name}, with real connections, ${flavour} flavour`, async () => {
      await using stage = await RealStage.open(scenario, flavour);
      await play(scenario, stage);
    });
  }
}
