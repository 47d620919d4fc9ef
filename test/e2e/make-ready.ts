import { labImages } from "../cluster/images.ts";
import { seedOf } from "../cluster/seed.ts";
import { nextImages, productImages, programImages } from "./images.ts";

// Makes what the clusters of these tests begin with, so that no two tests make the same at once:
//   node test/e2e/make-ready.ts [images] [clusters] [rest]   default: all of them

const STEPS: Readonly<Record<string, () => Promise<unknown>>> = {
  /** The images of agent and controller of these sources, which need no command that Go builds. */
  images: programImages,
  /** The images of the lab, and both unpacked: all that journey.test.ts needs. */
  clusters: async () => seedOf([...(await labImages()), ...(await programImages())]),
  /** What other tests of clusters need: nodes with the images of the lab alone, those of drills, and those of the next release. */
  rest: async () => {
    await seedOf(await labImages());
    await seedOf([...(await labImages()), ...(await productImages())]);
    await nextImages();
  },
};

const asked = process.argv.slice(2);
for (const name of asked.length === 0 ? Object.keys(STEPS) : asked) {
  const step = STEPS[name];
  if (step === undefined) throw new Error(`${name}: expected ${Object.keys(STEPS).join(", ")}`);
  await step();
}
