import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { debianRoot } from "../vm/debian.ts";
import { type BuiltImage, build } from "./buildah.ts";
import { PAUSE_IMAGE } from "./node-files.ts";

/** The cluster's DNS server, as Kubernetes has it. */
export const COREDNS_IMAGE = "lab.local/coredns:1";

/** `serve` and `request`, for connections between pods: `node /app/serve/serve.ts`, `node /app/request/request.ts`. */
export const PROBE_IMAGE = "lab.local/probe:1";

const FOLDER = `${import.meta.dirname}/images`;
const REPOSITORY = `${import.meta.dirname}/../..`;

/** What every node has from the beginning. Builds what is not there yet: a minute the first time, then nothing. */
export async function labImages(): Promise<BuiltImage[]> {
  const catatonit = await whereIs("catatonit");
  const node = await nodeImage();
  return [
    await build({ tag: PAUSE_IMAGE, folder: `${FOLDER}/pause`, context: [catatonit] }),
    await build({
      tag: COREDNS_IMAGE,
      folder: `${FOLDER}/coredns`,
      context: [kubernetesCommand("coredns")],
    }),
    await build({
      tag: PROBE_IMAGE,
      folder: `${FOLDER}/probe`,
      context: [`${REPOSITORY}/images/serve`, `${REPOSITORY}/images/request`],
      base: node,
    }),
  ];
}

/** What Dockerfiles of this repository begin with: `node:24-bookworm-slim`, made of Debian's packages and our Node. */
export async function nodeImage(): Promise<BuiltImage> {
  const debian = await build({
    tag: "docker.io/library/debian:bookworm-slim",
    folder: `${FOLDER}/debian`,
    context: [await debianRoot()],
    isBase: true,
  });
  return build({
    tag: "docker.io/library/node:24-bookworm-slim",
    folder: `${FOLDER}/node`,
    context: [process.execPath],
    base: debian,
    isBase: true,
  });
}

async function whereIs(program: string): Promise<string> {
  const { stdout } = await promisify(execFile)("sh", ["-c", `command -v ${program}`]);
  return stdout.trim();
}
