import { labImages } from "../cluster/images.ts";
import { seedOf } from "../cluster/seed.ts";
import { nextImages, productImages } from "./images.ts";

// Makes what the clusters of these tests begin with, so that no two tests make the same at once: the images of the lab and those
// of the sources as they are, unpacked.

await seedOf(await labImages());
await seedOf([...(await labImages()), ...(await productImages())]);
await nextImages();
