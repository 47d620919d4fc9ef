import { after, before, describe } from "node:test";
import { lifeCases } from "../apiserver/conformance/life.ts";
import { propertyCases } from "../apiserver/conformance/properties.ts";
import { sliceCases } from "../apiserver/conformance/slices.ts";
import type { CaseStage } from "../apiserver/service-case.ts";
import { Clusterset } from "./clusterset.ts";
import { AskingCluster } from "./conformance/asking-cluster.ts";
import { connectionCases } from "./conformance/connections.ts";
import { headlessNameCases } from "./conformance/headless-names.ts";
import { nameCases } from "./conformance/names.ts";

// All 27 cases of the conformance suite of the Multi-Cluster Services API, by the numbers of docs/MCS-API.md, on two real
// clusters: what a control plane shows, by the same code as on API servers alone; connections and names, from real pods.

describe("the cases of the conformance suite on two real clusters", { concurrency: 6 }, () => {
  let set: Clusterset;
  let stage: CaseStage<AskingCluster>;
  before(async () => {
    const regions = ["eu-west", "us-east"];
    set = await Clusterset.create({ clusters: 2, regions, components: ["dual-stack"] });
    stage = { clusters: await Promise.all(set.ids.map((id) => AskingCluster.start(set, id))) };
  });
  after(() => set?.remove());
  connectionCases(() => stage);
  headlessNameCases(() => stage);
  nameCases(() => stage);
  lifeCases(() => stage);
  propertyCases(() => stage);
  sliceCases(() => stage);
});
