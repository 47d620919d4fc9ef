import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unpackEarlierRelease } from "../apiserver/earlier-release.ts";
import { type BuiltImage, build } from "../cluster/buildah.ts";
import { nodeImage } from "../cluster/images.ts";

/** The last release as operators install it. */
export interface EarlierImages {
  readonly version: string;
  readonly images: readonly BuiltImage[];
  /** Tag of its images, which no other release has. */
  readonly tag: string;
  /** Its folder `deploy`. */
  readonly deploy: string;
}

/** What its build, its Dockerfiles and its manifests need. */
const PARTS = [
  ...["agent", "api", "bin", "common", "controller", "deploy", "images", "scripts"],
  ...["Dockerfile.agent", "package.json"],
];

/** Builds its images from its sources, by its own build and Dockerfiles, on the lab's base. The folder is the caller's to remove. */
export async function earlierImages(): Promise<EarlierImages & { readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "clusterset-proxy-earlier-"));
  unpackEarlierRelease(folder, PARTS);
  execFileSync(process.execPath, ["scripts/build.ts"], { cwd: folder });
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const tag = `${version}-earlier`;
  const base = await nodeImage();
  const args = [`--build-arg=NODE_IMAGE=${base.tag}`, "--build-arg=DIST=prebuilt"];
  const image = (name: string, recipe: string) =>
    build({
      tag: `docker.io/library/clusterset-${name}:${tag}`,
      folder: join(folder, recipe),
      context: [join(folder, "dist")],
      ...{ base, args },
    });
  const images = [
    await image("agent", "Dockerfile.agent"),
    await image("controller", "images/controller"),
  ];
  return { version, images, tag, deploy: join(folder, "deploy"), folder };
}
