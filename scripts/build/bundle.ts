import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as esbuild from "esbuild";
import { kubeconfigOnly } from "./kubeconfig-only.ts";
import { type NamedFile, sbomText } from "./sbom.ts";
import { versionOnly } from "./version-only.ts";

const ROOT = join(import.meta.dirname, "../..");
const NETLINK = dirname(createRequire(import.meta.url).resolve("netlink/package.json"));

/**
 * Architectures that nodes have, as Node calls them, with the SHA-256 of netlink's prebuilt part: a binary that a root process
 * loads must not change with anything but a review of this line.
 */
const NATIVE = {
  x64: "b6f6c3ce4cb8a28e0b1716bbdbbe7184dd3d2e6b8b706596c05b6856f0a959a2",
  arm64: "b9481e1e099c570b0d7cb6d032b5af9ed7ff9680882bbca2b426e290727c5c99",
} as const;

/** Joined at run time: a path that esbuild could read, it would look for while it bundles. */
const LOAD_NATIVE = `
  const file = ["./netlink-linux-", process.arch, ".node"].join("");
  module.exports = () => require(file);
`;

/**
 * Where a bundle finds netlink's native part: beside itself. The package looks through its own folder with
 * node-gyp-build, and a bundle has no such folder.
 */
const nativeBeside: esbuild.Plugin = {
  name: "native-beside",
  setup(build) {
    const namespace = "native-beside";
    build.onResolve({ filter: /^node-gyp-build$/ }, ({ path }) => ({ path, namespace }));
    build.onLoad({ filter: /.*/, namespace }, () => ({ contents: LOAD_NATIVE }));
  },
};

/**
 * node:http by `require`. An `import` of a built-in module reads all that it exports at once, and where node:http
 * exports WebSocket (Node 24), reading that loads undici: 4 to 14 MB of memory on every node, for nothing.
 */
const httpByRequire: esbuild.Plugin = {
  name: "http-by-require",
  setup(build) {
    const namespace = "http-by-require";
    build.onResolve({ filter: /^(node:)?http$/ }, ({ path, namespace: from }) =>
      from === namespace ? { path, external: true } : { path, namespace },
    );
    build.onLoad({ filter: /.*/, namespace }, () => ({
      contents: 'module.exports = require("node:http");',
    }));
  },
};

/**
 * Bundles the program `entry` and all that it imports into the one file `out`. It needs Node and nothing else.
 * Not minified: a stack in a log should say where it is, and the readable text costs 1.5 MB of memory (Node 24). Gives esbuild's
 * list of the files in the bundle.
 */
export async function bundle(entry: string, out: string): Promise<esbuild.Metafile> {
  const { outputFiles, metafile } = await esbuild.build({
    entryPoints: [entry],
    absWorkingDir: ROOT,
    metafile: true,
    outfile: out,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    charset: "ascii",
    write: false,
    logLevel: "warning",
    plugins: [nativeBeside, httpByRequire, kubeconfigOnly, versionOnly],
    // Dependencies that are CommonJS modules expect both, and a module has neither.
    define: { __dirname: "import.meta.dirname" },
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
  mkdirSync(dirname(out), { recursive: true });
  for (const { text } of outputFiles) writeFileSync(out, escaped(text));
  return metafile;
}

/** Names of the programs, by their folders. */
const PROGRAMS = {
  agent: "clusterset-agent",
  controller: "clusterset-controller",
  cli: "kubectl-clusterset",
} as const;

/**
 * Builds a program into `folder`, with its SBOM; gives the paths of both. The agent needs `copyNative`, too. Rejects if an installed
 * package is not the one that package-lock.json pins.
 */
export async function buildProgram(program: keyof typeof PROGRAMS, folder: string) {
  const name = PROGRAMS[program];
  const [file, sbom] = [join(folder, `${name}.mjs`), join(folder, `${name}.cdx.json`)];
  const metafile = await bundle(join(ROOT, program, "main.ts"), file);
  const text = sbomText({
    program: { name, content: readFileSync(file) },
    metafile,
    lock: JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")),
    native: nativeParts(),
    installed: (path) => JSON.parse(readFileSync(join(ROOT, path, "package.json"), "utf8")).version,
  });
  writeFileSync(sbom, text);
  return [file, sbom];
}

/**
 * One character beyond Latin-1, and V8 keeps all of a text in two bytes each: 1.4 MB of memory on every node. esbuild has
 * escaped what is code; what is left stands in comments, where it does not matter how it is spelled.
 */
function escaped(text: string): string {
  return text.replaceAll(
    /[\u0080-\uffff]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/**
 * Copies netlink's prebuilt native parts to `folder`, where a bundle looks for them; gives their paths. Throws if one is not
 * the reviewed one. `netlink`: the package's folder.
 */
export function copyNative(folder: string, netlink = NETLINK): string[] {
  mkdirSync(folder, { recursive: true });
  return nativeParts(netlink).map(({ name, content }) => {
    const copy = join(folder, name);
    writeFileSync(copy, content);
    return copy;
  });
}

/** netlink's prebuilt native parts, by their names beside a bundle. Throws if one is not the reviewed one. */
function nativeParts(netlink = NETLINK): NamedFile[] {
  return Object.entries(NATIVE).map(([architecture, digest]) => {
    const prebuilt = join(netlink, "prebuilds", `linux-${architecture}`, "node.napi.node");
    if (!existsSync(prebuilt)) throw new Error(`netlink has no prebuilt part for ${architecture}`);
    const content = readFileSync(prebuilt);
    const found = createHash("sha256").update(content).digest("hex");
    if (found !== digest) throw new Error(`${prebuilt} has SHA-256 ${found}, not ${digest}`);
    return { name: `netlink-linux-${architecture}.node`, content };
  });
}
