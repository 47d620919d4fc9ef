import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import type { ImportFact, NodeObjectFact, SliceFact } from "../model/facts.ts";

/**
 * What a source of Kubernetes objects tells the agent. A source lists once, calls `listed`, and from then
 * on reports changes for as long as it runs. It never reports a removal because it failed to read.
 */
export interface SourceEvents {
  /** A fact is new or has changed. `at`: when the source learned of it, in milliseconds of the clock. */
  importChanged(fact: ImportFact, at: number): void;
  importRemoved(key: ObjectKey, at: number): void;
  sliceChanged(fact: SliceFact, at: number): void;
  sliceRemoved(key: ObjectKey, at: number): void;
  /** This node's Node object as of now; undefined if there is none. */
  nodeChanged(fact: NodeObjectFact | undefined, at: number): void;
  /** All addresses of the node's interfaces as of now, as the kernel spells them. */
  addressesChanged(addresses: readonly string[], at: number): void;
  /** All of this cluster's ClusterProperties as of now, by name. */
  propertiesChanged(properties: ReadonlyMap<string, string>, at: number): void;
  /** All that is wrong with one object (`object` as in Problem) as of now; an empty list clears it. */
  problems(object: string, problems: readonly Problem[]): void;
  /** The source has reported everything that existed when it started. */
  listed(): void;
}

/** A place that ServiceImports and EndpointSlices come from. Construction starts nothing. */
export interface Source {
  readonly name: string;
  /** Starts; returns at once. The source goes on, through faults too, until `stop`. */
  start(events: SourceEvents): void;
  stop(): Promise<void>;
}
