import { after, before, describe } from "node:test";
import { Clusterset } from "./clusterset.ts";
import { automatic } from "./walk-through/automatic.ts";
import { kinds } from "./walk-through/kinds.ts";
import { ownCluster } from "./walk-through/own-cluster.ts";

// docs/guides/walk-throughs.md, its part where controllers do what is to be done, by copy and paste. The stories are told at
// the same time, each in a namespace of its own.

let set: Clusterset;
before(async () => {
  set = await Clusterset.create({ clusters: 2, regions: ["sa-brazil-1", "la-south-2"] });
});
after(() => set?.remove());

describe("walk-throughs of a clusterset", { concurrency: 3 }, () => {
  kinds(() => set);
  ownCluster(() => set);
  automatic(() => set);
});
