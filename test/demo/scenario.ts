import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { LABEL_SOURCE_CLUSTER } from "../../api/keys.ts";

/** An object of the scenario, as far as the demo looks into it. */
export interface ScenarioObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly endpoints?: readonly {
    readonly addresses: readonly string[];
    readonly conditions: object;
  }[];
}

/** The published scenario, whose clusters may be scaled to nothing and back. */
export class Scenario {
  /** Everything as published. */
  readonly objects: readonly ScenarioObject[];

  /** Reads a file of several objects. */
  constructor(file: string) {
    const documents = parseAllDocuments(readFileSync(file, "utf8"));
    this.objects = documents.map((document) => document.toJS() as ScenarioObject);
  }

  /** The cluster's slice as published, or with no endpoint left that is ready or serves. */
  slice(cluster: string, up: boolean): ScenarioObject {
    const slice = this.objects.find(
      ({ metadata }) => metadata.labels?.[LABEL_SOURCE_CLUSTER] === cluster,
    );
    if (slice === undefined) throw new Error(`the scenario has no slice of cluster ${cluster}`);
    const conditions = { ready: false, serving: false, terminating: true };
    const endpoints = slice.endpoints?.map((endpoint) => ({ ...endpoint, conditions }));
    return up || endpoints === undefined ? slice : { ...slice, endpoints };
  }
}

/** Where the scenario is written to, and how the agent is told to read it. */
export interface Publication extends AsyncDisposable {
  /** The agent's flags: where its objects are, and what these do not say of its node. */
  readonly flags: readonly string[];
  /** Writes these objects: those that are there become like them. Resolves once that is certain. */
  write(...objects: readonly ScenarioObject[]): Promise<void>;
}
