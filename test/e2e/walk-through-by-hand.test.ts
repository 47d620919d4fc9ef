import { after, before } from "node:test";
import { Clusters } from "../cluster/clusters.ts";
import { productImages } from "./images.ts";
import { byHand } from "./walk-through/by-hand.ts";
import { migration } from "./walk-through/migration.ts";

// docs/guides/walk-throughs.md, its part where a person writes imports and slices, by copy and paste. Two clusters that begin
// without anything of ours; the stories are told one after the other, and so are their tests.

let clusters: Clusters;
before(async () => {
  clusters = await Clusters.create({ clusters: 2, images: await productImages() });
});
after(() => clusters?.remove());

byHand(() => clusters);
migration(() => clusters);
