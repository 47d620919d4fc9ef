import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { buildPrograms } from "./build/programs.ts";
import { packageCharts } from "./release/charts.ts";
import { writeChecksums } from "./release/checksums.ts";
import { buildImages } from "./release/images.ts";
import { renderManifests } from "./release/manifests.ts";
import { output, ROOT } from "./release/output.ts";

// Makes all artefacts of a version: node scripts/release.ts [FOLDER], by default dist/. Two runs with the same commit give the same
// files, except for images. Environment:
//   SOURCE_DATE_EPOCH   seconds since 1970, the time in archives; default: that of the commit
//   IMAGES=1            also images, with buildah, only in dist/; NODE_IMAGE names their base

const dist = join(ROOT, "dist");
const [folder = dist] = process.argv.slice(2);
const { SOURCE_DATE_EPOCH, IMAGES, NODE_IMAGE } = process.env;
const revision = output("git", ["rev-parse", "HEAD"]).trim();
const epoch = Number(SOURCE_DATE_EPOCH ?? output("git", ["log", "-1", "--format=%ct"]));
if (!Number.isSafeInteger(epoch)) throw new Error(`SOURCE_DATE_EPOCH: ${SOURCE_DATE_EPOCH}`);

// The Dockerfiles take the bundles from there.
if (IMAGES === "1" && folder !== dist) throw new Error(`IMAGES=1 needs ${dist}`);

/** A command that test/kubernetes/build has built from its Go module. */
const built = (name: string): string => output("test/kubernetes/build", [name]).trim();

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const files = [
  ...(await buildPrograms(folder)),
  ...renderManifests(folder, built("kubectl")),
  ...packageCharts(folder, built("helm"), epoch),
];
if (IMAGES === "1") {
  const { version } = packageJson;
  const base = NODE_IMAGE === undefined ? {} : { nodeImage: NODE_IMAGE };
  files.push(...buildImages(folder, { version, revision, epoch, ...base }));
}
console.log(
  `${packageJson.version}, commit ${revision}\n${output("cat", [writeChecksums(folder, files)])}`,
);
