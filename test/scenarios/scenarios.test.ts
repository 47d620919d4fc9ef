import { test } from "node:test";
import { play, scenarios } from "./play.ts";
import { TracedStage } from "./traced-stage.ts";

for (const { name, scenario } of scenarios()) {
  test(`scenario ${name}, traced over the rendered rules`, async () => {
    await using stage = new TracedStage(scenario);
    await play(scenario, stage);
  });
}
