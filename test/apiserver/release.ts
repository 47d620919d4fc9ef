import { resolve } from "node:path";

/** What operators install. */
export interface Release {
  /** The commands that start the programs. */
  readonly agent: readonly string[];
  readonly controller: readonly string[];
  readonly plugin: readonly string[];
  /** The directory of `crds/` and `rbac/`. */
  readonly deploy: string;
}

/** The release in these sources. */
export const OURS = releaseIn(resolve(import.meta.dirname, "../.."));

/** The release in the sources at a directory. */
export function releaseIn(root: string): Release {
  return {
    agent: [`${root}/bin/clusterset-agent`],
    controller: [`${root}/bin/clusterset-controller`],
    plugin: [`${root}/bin/kubectl-clusterset`],
    deploy: `${root}/deploy`,
  };
}
