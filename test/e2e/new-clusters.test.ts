import { after, before } from "node:test";
import { Clusters } from "../cluster/clusters.ts";
import { productImages } from "./images.ts";
import { lifeWithPlugin } from "./join.ts";
import { byHand } from "./walk-through/by-hand.ts";
import { migration } from "./walk-through/migration.ts";

// Stories of two clusters that begin without anything of ours, told one after the other on the same ones: a life with
// `kubectl clusterset`, which leaves nothing, and the part of docs/guides/walk-throughs.md where a person writes imports and slices.

let clusters: Clusters;
before(async () => {
  clusters = await Clusters.create({ clusters: 2, images: await productImages() });
});
after(() => clusters?.remove());

lifeWithPlugin(() => clusters);
byHand(() => clusters);
migration(() => clusters);
