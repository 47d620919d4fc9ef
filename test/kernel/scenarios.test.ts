import { test } from "node:test";
import { play, scenarios } from "../scenarios/play.ts";
import { RealStage } from "../scenarios/real-stage.ts";

for (const { name, scenario } of scenarios()) {
  test(`scenario ${name}, with real connections`, async () => {
    await using stage = await RealStage.open(scenario);
    await play(scenario, stage);
  });
}
