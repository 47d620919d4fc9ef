import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle, copyNative } from "../../scripts/build/bundle.ts";
import { type BuiltImage, build } from "../cluster/buildah.ts";
import { nodeImage } from "../cluster/images.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The images that are rolled out, of the sources as they are now: by their Dockerfiles, on the lab's base. */
export async function productImages(): Promise<BuiltImage[]> {
  const base = await nodeImage();
  const folder = mkdtempSync(join(tmpdir(), "clusterset-proxy-images-"));
  try {
    const dist = join(folder, "dist");
    for (const program of ["agent", "controller"]) {
      await bundle(join(ROOT, program, "main.ts"), join(dist, `clusterset-${program}.mjs`));
    }
    copyNative(dist);
    const args = [`--build-arg=NODE_IMAGE=${base.tag}`, "--build-arg=DIST=prebuilt"];
    const common = { context: [dist], base, args };
    return [
      await build({
        // What a kubelet makes of a name without a registry.
        tag: "docker.io/library/clusterset-agent:0.1.0",
        folder: join(ROOT, "Dockerfile.agent"),
        ...common,
      }),
      await build({
        tag: "docker.io/library/clusterset-controller:0.1.0",
        folder: join(ROOT, "images/controller"),
        ...common,
      }),
      await demo("serve", base),
      await demo("request", base),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** An image of demos and drills: sources, and nothing to be built before. */
function demo(name: string, base: BuiltImage): Promise<BuiltImage> {
  return build({
    tag: `docker.io/library/clusterset-${name}:0.1.0`,
    folder: join(ROOT, "images", name),
    context: [],
    base,
    args: [`--build-arg=NODE_IMAGE=${base.tag}`],
  });
}
