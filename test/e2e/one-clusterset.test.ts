import { after, before, describe } from "node:test";
import { Clusterset } from "./clusterset.ts";
import { debugging } from "./debug.ts";
import { automatic } from "./walk-through/automatic.ts";
import { kinds } from "./walk-through/kinds.ts";
import { ownCluster } from "./walk-through/own-cluster.ts";

// Guides that begin with a clusterset, by copy and paste, on the same one: debug-a-node.md, and then the part of walk-throughs.md where
// controllers do what is to be done. These stories are told at the same time, each in a namespace of its own.

let set: Clusterset;
before(async () => {
  set = await Clusterset.create({ clusters: 2, regions: ["eu-west", "us-east"] });
});
after(() => set?.remove());

debugging(() => set);

describe("walk-throughs of a clusterset", { concurrency: 3 }, () => {
  kinds(() => set);
  ownCluster(() => set);
  automatic(() => set);
});
