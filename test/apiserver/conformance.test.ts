import { after, before, describe } from "node:test";
import { conformanceCases } from "./conformance/cases.ts";
import { ControllerStage } from "./controller-stage.ts";

// The cases of the conformance suite of the Multi-Cluster Services API that a control plane can show, by the numbers of
// docs/MCS-API.md: written from what they ask for, with stricter checks where it asks for little. hub.test.ts has them with a hub.

describe("with records on each cluster's own API server", { concurrency: 5 }, () => {
  let stage: ControllerStage;
  before(async () => {
    stage = await ControllerStage.open({
      clusters: ["cluster-1", "cluster-2"],
      flags: ["--clusterset-cidr", "241.0.0.0/8,fdc5::/64"],
    });
    await stage.start();
  });
  after(() => stage[Symbol.asyncDispose]());
  conformanceCases(() => stage);
});
