import { after, before, describe } from "node:test";
import { addressItems } from "./checklist/addresses.ts";
import { conflictItems } from "./checklist/conflicts.ts";
import { endpointItems } from "./checklist/endpoints.ts";
import { exportingItems } from "./checklist/exporting.ts";
import { importingItems } from "./checklist/importing.ts";
import { restartingItems } from "./checklist/restarting.ts";
import { ControllerStage } from "./controller-stage.ts";

// What KEP-1645 asks for, item by item of docs/MCS-API.md, as far as a control plane shows it and no
// case of the conformance suite does.

const BOTH_FAMILIES = ["--clusterset-cidr", "241.0.0.0/8,fdc5::/64"];

describe("three clusters that read each other", () => {
  let stage: ControllerStage;
  before(async () => {
    stage = await ControllerStage.open({ clusters: ["c1", "c2", "c3"], flags: BOTH_FAMILIES });
    for (const { id, plane } of stage.clusters) {
      await plane.admin.apply({
        apiVersion: "about.k8s.io/v1beta1",
        kind: "ClusterProperty",
        metadata: { name: "region.topology.k8s.io" },
        spec: { value: `region-${id}` },
      });
    }
    await stage.start();
  });
  after(() => stage[Symbol.asyncDispose]());
  describe("at work", { concurrency: 6 }, () => {
    exportingItems(() => stage);
    importingItems(() => stage);
    addressItems(() => stage);
    endpointItems(() => stage);
    conflictItems(() => stage);
  });
  describe("after all of it", () => restartingItems(() => stage));
});
