import type { Plugin } from "esbuild";

/**
 * What client-node's `KubeConfig` imports for methods that we do not call, by the export that it names: the
 * generated clients of all kinds (1 MB) for `makeApiClient`, and undici (1.3 MB) for the dispatcher of those.
 */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  "./gen/index.js": ["createConfiguration", "ServerConfiguration"],
  undici: ["Agent", "ProxyAgent"],
};

/** Leaves out of a bundle what `KubeConfig` has no use for when it only reads files and authenticates. */
export const kubeconfigOnly: Plugin = {
  name: "kubeconfig-only",
  setup(build) {
    const namespace = "kubeconfig-only";
    build.onResolve({ filter: /^(\.\/gen\/index\.js|undici)$/ }, ({ path, importer }) =>
      importer.endsWith("@kubernetes/client-node/dist/config.js") ? { path, namespace } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
      contents: (UNUSED[path] ?? [])
        .map((name) => `export function ${name}() { throw new Error("${name} is not bundled"); }\n`)
        .join(""),
    }));
  },
};
