import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VERSION } from "../../common/version.ts";
import { buildProgram, copyNative } from "../../scripts/build/bundle.ts";
import { type BuiltImage, build, nodeImage } from "../cluster/images.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The release of these sources, and one after it. */
export const RELEASE = "0.2.0";
export const NEXT_RELEASE = "0.2.1";

/** The images of agent and controller, of the sources as they are now: by their Dockerfiles, on the lab's base. */
export async function programImages(): Promise<BuiltImage[]> {
  return programs(await nodeImage(), RELEASE);
}

/** All images of a release: besides the programs, the server and the client of the guide for drills. */
export async function productImages(): Promise<BuiltImage[]> {
  const base = await nodeImage();
  return [...(await programImages()), await demo("serve", base), await demo("request", base)];
}

/** The images of the next release: the same sources, whose programs report its version. */
export async function nextImages(): Promise<BuiltImage[]> {
  return programs(await nodeImage(), NEXT_RELEASE);
}

/** The images of agent and controller. */
async function programs(base: BuiltImage, version: string): Promise<BuiltImage[]> {
  const folder = mkdtempSync(join(tmpdir(), "clusterset-proxy-images-"));
  try {
    const dist = join(folder, "dist");
    for (const program of ["agent", "controller"] as const) {
      const [file = ""] = await buildProgram(program, dist);
      setVersion(file, version);
    }
    copyNative(dist);
    const args = [`--build-arg=NODE_IMAGE=${base.tag}`, "--build-arg=DIST=prebuilt"];
    const common = { context: [dist], base, args };
    return [
      await build({
        // What a kubelet makes of a name without a registry.
        tag: `docker.io/library/clusterset-agent:${version}`,
        folder: join(ROOT, "Dockerfile.agent"),
        ...common,
      }),
      await build({
        tag: `docker.io/library/clusterset-controller:${version}`,
        folder: join(ROOT, "images/controller"),
        ...common,
      }),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
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

/** An image of demos and drills: sources, and nothing to be built before. */
function demo(name: string, base: BuiltImage): Promise<BuiltImage> {
  return build({
    tag: `docker.io/library/clusterset-${name}:${RELEASE}`,
    folder: join(ROOT, "images", name),
    context: [],
    base,
    args: [`--build-arg=NODE_IMAGE=${base.tag}`],
  });
}
