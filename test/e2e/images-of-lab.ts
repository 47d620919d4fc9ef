import { productImages } from "./images.ts";

// Builds the images of agent and controller and prints their archives, for the clusters of "make lab":
//     for image in $(node test/e2e/images-of-lab.ts); do test/cluster/lab load $image; done

for (const { archive } of await productImages()) console.log(archive);
