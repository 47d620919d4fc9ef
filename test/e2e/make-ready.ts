import { labImages } from "../cluster/images.ts";
import { seedOf } from "../cluster/seed.ts";
import { nextImages, productImages } from "./images.ts";

// Makes what the clusters of these tests begin with, so that no two tests make the same at once:
//   node test/e2e/make-ready.ts [images] [clusters] [rest]   default: all of them

const STEPS: Readonly<Record<string, () => Promise<unknown>>> = {
  /** The images of these sources, which need no command that Go builds. */
  images: productImages,
  /** The images of the lab, and both unpacked: all that a cluster needs whose user installs these sources. */
  clusters: async () => seedOf([...(await labImages()), ...(await productImages())]),
  /** What other tests of clusters need: nodes with the images of the lab alone, and the images of the next release. */
  rest: async () => {
    await seedOf(await labImages());
    await nextImages();
  },
};

const asked = process.argv.slice(2);
for (const name of asked.length === 0 ? Object.keys(STEPS) : asked) {
  const step = STEPS[name];
  if (step === undefined) throw new Error(`${name}: expected ${Object.keys(STEPS).join(", ")}`);
  await step();
}
