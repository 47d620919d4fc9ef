import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as esbuild from "esbuild";
import { kubeconfigOnly } from "./kubeconfig-only.ts";
import { versionOnly } from "./version-only.ts";

/** Architectures that nodes have, as Node calls them. */
const ARCHITECTURES = ["x64", "arm64"] as const;

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
 * Not minified: a stack in a log should say where it is, and the readable text costs 1.5 MB of memory (Node 24).
 */
export async function bundle(entry: string, out: string): Promise<void> {
  const { outputFiles } = await esbuild.build({
    entryPoints: [entry],
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

/** Copies netlink's prebuilt native parts to `folder`, where a bundle looks for them; gives their paths. */
export function copyNative(folder: string): string[] {
  const netlink = dirname(createRequire(import.meta.url).resolve("netlink/package.json"));
  mkdirSync(folder, { recursive: true });
  return ARCHITECTURES.map((architecture) => {
    const prebuilt = join(netlink, "prebuilds", `linux-${architecture}`, "node.napi.node");
    if (!existsSync(prebuilt)) throw new Error(`netlink has no prebuilt part for ${architecture}`);
    const copy = join(folder, `netlink-linux-${architecture}.node`);
    copyFileSync(prebuilt, copy);
    return copy;
  });
}
