import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { parseAllDocuments, stringify } from "yaml";

interface Slice {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly endpoints?: readonly {
    readonly addresses: readonly string[];
    readonly conditions: object;
  }[];
}

/**
 * The published scenario as a directory of one object a file, which the agent watches. A cluster is scaled
 * by writing its slice anew, beside the directory, and renaming it into place: a reader sees the old
 * content or the new, and never half of it.
 */
export class Manifests {
  readonly directory: string;
  readonly #objects: readonly Slice[];

  /** Reads `scenario`, a file of several objects; writes nothing yet. */
  constructor(scenario: string, directory: string) {
    this.directory = directory;
    this.#objects = parseAllDocuments(readFileSync(scenario, "utf8")).map(
      (document) => document.toJS() as Slice,
    );
  }

  /** Writes everything as published. */
  writeAll(): void {
    for (const object of this.#objects) this.#write(object);
  }

  /** Writes the cluster's slice as published, or with no endpoint left that is ready or serves. */
  write(cluster: string, up: boolean): void {
    const slice = this.#objects.find(
      ({ metadata }) => metadata.labels?.["multicluster.kubernetes.io/source-cluster"] === cluster,
    );
    if (slice === undefined) throw new Error(`the scenario has no slice of cluster ${cluster}`);
    const conditions = { ready: false, serving: false, terminating: true };
    const endpoints = slice.endpoints?.map((endpoint) => ({ ...endpoint, conditions }));
    this.#write(up || endpoints === undefined ? slice : { ...slice, endpoints });
  }

  #write(object: Slice): void {
    const name = `${object.kind}-${object.metadata.name}.yaml`;
    const draft = `${this.directory}/../${name}`;
    writeFileSync(draft, stringify(object));
    renameSync(draft, `${this.directory}/${name}`);
  }
}
