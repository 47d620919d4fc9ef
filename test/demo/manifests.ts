import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { stringify } from "yaml";
import type { Publication, ScenarioObject } from "./scenario.ts";
import { HOME } from "./world.ts";

/**
 * A directory of one object a file, which the agent watches. A file is written beside the directory, and renamed
 * into place: a reader sees the old content or the new, and never half of it.
 */
export class Manifests implements Publication {
  readonly flags: readonly string[];
  readonly #directory: string;

  /** Makes the directory inside `parent`. */
  constructor(parent: string) {
    this.#directory = `${parent}/manifests`;
    mkdirSync(this.#directory);
    this.flags = [
      `--manifests=${this.#directory}`,
      `--cluster-id=${HOME.cluster}`,
      `--region=${HOME.region}`,
      `--pod-cidrs=${HOME.podCidrs.join()}`,
    ];
  }

  async write(...objects: readonly ScenarioObject[]): Promise<void> {
    for (const object of objects) {
      const name = `${object.kind}-${object.metadata.name}.yaml`;
      const draft = `${this.#directory}/../${name}`;
      writeFileSync(draft, stringify(object));
      renameSync(draft, `${this.#directory}/${name}`);
    }
  }

  /** The directory goes with its parent. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
