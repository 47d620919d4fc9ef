import { readFileSync } from "node:fs";
import type { Plugin } from "esbuild";

/**
 * Of a package.json, ours or a dependency's, a bundle takes name and version, which is what programs tell of themselves. The
 * rest would lie there as text, names of tools and all.
 */
export const versionOnly: Plugin = {
  name: "version-only",
  setup(build) {
    build.onLoad({ filter: /\/package\.json$/ }, ({ path }) => {
      const { name, version }: { name?: string; version?: string } = JSON.parse(
        readFileSync(path, "utf8"),
      );
      return { contents: JSON.stringify({ name, version }), loader: "json" };
    });
  },
};
