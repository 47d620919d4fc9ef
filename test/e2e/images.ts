import assert from "node:assert/strict";
import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VERSION } from "../../common/version.ts";
import { buildProgram, copyNative } from "../../scripts/build/bundle.ts";
import { agnhostImage, type BuiltImage, build, nodeImage } from "../cluster/images.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The release of these sources, and one after it. */
export const RELEASE = "0.2.0";
export const NEXT_RELEASE = "0.2.1";

/** The images of agent and controller, of the sources as they are now: by their Dockerfiles, on the lab's base. */
export async function programImages(): Promise<BuiltImage[]> {
  return programs(await nodeImage(), RELEASE);
}

/** All images of a release, and what guides run besides the programs: the server and the client of the guide for drills, and of the install guide. */
export async function productImages(): Promise<BuiltImage[]> {
  const base = await nodeImage();
  // Those of demos and drills have nothing that is to be built before.
  const demo = (name: string) => image(name, RELEASE, `images/${name}`, base);
  const ours = [...(await programImages()), await demo("serve"), await demo("request")];
  return [...ours, await agnhostImage()];
}

/** The images of the next release: the same sources, whose programs report its version. */
export async function nextImages(): Promise<BuiltImage[]> {
  return programs(await nodeImage(), NEXT_RELEASE);
}

/** The images of agent and controller. */
async function programs(base: BuiltImage, version: string): Promise<BuiltImage[]> {
  using folder = mkdtempDisposableSync(join(tmpdir(), "clusterset-proxy-images-"));
  const dist = join(folder.path, "dist");
  for (const program of ["agent", "controller"] as const) {
    const [file = ""] = await buildProgram(program, dist);
    setVersion(file, version);
  }
  copyNative(dist);
  return [
    await image("agent", version, "Dockerfile.agent", base, dist),
    await image("controller", version, "images/controller", base, dist),
  ];
}

/** An image of ours by a Dockerfile; `dist`: with the programs in this folder, which are built already. */
function image(
  name: string,
  version: string,
  path: string,
  base: BuiltImage,
  dist?: string,
): Promise<BuiltImage> {
  const args = [`--build-arg=NODE_IMAGE=${base.tag}`];
  // What a kubelet makes of a name without a registry.
  const tag = `docker.io/library/clusterset-${name}:${version}`;
  const image = { tag, folder: join(ROOT, path), base };
  if (dist === undefined) return build({ ...image, context: [], args });
  return build({ ...image, context: [dist], args: [...args, "--build-arg=DIST=prebuilt"] });
}

/** Makes a bundled program report another version than that of the sources. */
function setVersion(file: string, version: string): void {
  const [before, after = assert.fail(`${file} has no version`), ...more] = readFileSync(
    file,
    "utf8",
  ).split(`name: "clusterset-proxy", version: "${VERSION}"`);
  assert.equal(more.length, 0, `${file} has several versions`);
  writeFileSync(file, `${before}name: "clusterset-proxy", version: "${version}"${after}`);
}
