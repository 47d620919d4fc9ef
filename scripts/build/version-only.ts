import { readFileSync } from "node:fs";
import type { Plugin } from "esbuild";

/** Of our own package.json, a bundle takes the version: the rest would lie there as text, names of tools and all. */
export function versionOnly(file: string): Plugin {
  const { version }: { version: string } = JSON.parse(readFileSync(file, "utf8"));
  return {
    name: "version-only",
    setup(build) {
      build.onLoad({ filter: /package\.json$/ }, ({ path }) =>
        path === file ? { contents: JSON.stringify({ version }), loader: "json" } : undefined,
      );
    },
  };
}
