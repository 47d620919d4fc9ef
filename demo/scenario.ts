import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { LABEL_SOURCE_CLUSTER } from "../api/keys.ts";
import type { Exit } from "../test/lab/process.ts";
import type { ObjectsFrom } from "../test/stages/agent-process.ts";

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

/** How long servers continue after their endpoints were removed, in ms; a kubelet gives them 30 s. */
export const GRACE = 300;

/** The program that forwards connections on the client's node. */
export interface NodeProgram {
  /** Starts it, and waits until it works. */
  start(): Promise<void>;
  readonly exited: Promise<Exit>;
  readonly log: string;
}

/** Where objects are written, and the agent's flags for reading them. An object is stored once its write resolves. */
export interface Publication extends AsyncDisposable {
  /** Where the agent's objects are. */
  readonly objects: ObjectsFrom;
  /** The agent's flags, for what objects do not say of its node. */
  readonly flags: readonly string[];
  /** What runs in place of an agent; absent: an agent does. */
  readonly program?: NodeProgram;
  /** What marks the service's rules among all, and how long servers continue after their endpoints were removed, in ms. */
  readonly ruleMark: string;
  readonly grace: number;
  /** Writes what is there at first. Gives the VIP, and the moment since which the first connection is timed, if it is. */
  publish(): Promise<{ readonly vip: string; readonly since?: number }>;
  /** Declares a cluster's endpoints ready, or gone. */
  scale(cluster: string, up: boolean): Promise<void>;
}
