import { join } from "node:path";
import { output, ROOT } from "./output.ts";

/** What an image is built with. */
export interface ImageOptions {
  readonly version: string;
  /** The commit. */
  readonly revision: string;
  /** Seconds since 1970: the time of the image and of its files. */
  readonly epoch: number;
  /** Node's image, which the Dockerfiles name by default. */
  readonly nodeImage?: string;
}

const DOCKERFILES = {
  agent: "Dockerfile.agent",
  controller: "images/controller/Dockerfile",
} as const;

/**
 * Builds the images of agent and controller for this machine's architecture with buildah, of the bundles in dist/, and saves them as
 * OCI archives. Returns their paths. Needs the registry of the base image and Debian's.
 */
export function buildImages(folder: string, options: ImageOptions): string[] {
  const { version, revision, epoch, nodeImage } = options;
  return Object.entries(DOCKERFILES).map(([program, dockerfile]) => {
    const tag = `localhost/clusterset-${program}:${version}`;
    const args = { DIST: "prebuilt", VERSION: version, REVISION: revision };
    const given = { ...args, ...(nodeImage !== undefined && { NODE_IMAGE: nodeImage }) };
    output("buildah", [
      ...["bud", "--timestamp", `${epoch}`, "--tag", tag, "--file", join(ROOT, dockerfile)],
      ...Object.entries(given).map(([name, value]) => `--build-arg=${name}=${value}`),
      ROOT,
    ]);
    const file = join(folder, `clusterset-${program}-${version}.oci.tar`);
    output("buildah", ["push", tag, `oci-archive:${file}:${tag}`]);
    return file;
  });
}
