import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { earlierPackages, unpackEarlierRelease } from "../apiserver/earlier-release.ts";
import { type BuiltImage, build } from "../cluster/buildah.ts";
import { nodeImage } from "../cluster/images.ts";

/** The last release as operators install it. */
export interface EarlierImages {
  readonly images: readonly BuiltImage[];
  /** Its version and the tag of its images. These sources may have the same version, so this one has a suffix. */
  readonly version: string;
  /** Its folder `deploy`. */
  readonly deploy: string;
}

/** What its build, its Dockerfiles and its manifests need. */
const PARTS = [
  ...["agent", "api", "bin", "cli", "common", "controller", "deploy", "images", "scripts"],
  ...["Dockerfile.agent", "package.json", "package-lock.json"],
];

/** Builds its images from its sources, by its own build and Dockerfiles, on the lab's base. The folder is the caller's to remove. */
export async function earlierImages(): Promise<EarlierImages & { readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "clusterset-proxy-earlier-"));
  unpackEarlierRelease(folder, PARTS);
  const version = renamed(join(folder, "package.json"));
  buildIn(folder);
  const base = await nodeImage();
  const args = [`--build-arg=NODE_IMAGE=${base.tag}`, "--build-arg=DIST=prebuilt"];
  const image = (name: string, recipe: string) =>
    build({
      tag: `docker.io/library/clusterset-${name}:${version}`,
      folder: join(folder, recipe),
      context: [join(folder, "dist")],
      ...{ base, args },
    });
  const images = [
    await image("agent", "Dockerfile.agent"),
    await image("controller", "images/controller"),
  ];
  return { version, images, deploy: join(folder, "deploy"), folder };
}

/** Runs the build of sources. It lists the packages by their paths below these, so their folder is mounted there meanwhile. */
function buildIn(folder: string): void {
  mkdirSync(join(folder, "node_modules"));
  const script = 'mount --bind "$1" node_modules && exec "$2" scripts/build.ts';
  const argv = ["--mount", "sh", "-c", script, "sh", earlierPackages(), process.execPath];
  execFileSync("unshare", argv, { cwd: folder });
}

/** Adds a suffix to the version of a package. Returns the new one. */
function renamed(file: string): string {
  const release = JSON.parse(readFileSync(file, "utf8"));
  const version = `${release.version}-earlier`;
  writeFileSync(file, JSON.stringify({ ...release, version }));
  return version;
}
