import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import type { ImportFact, NodeObservation, SliceFact } from "../model/facts.ts";
import type { Silence } from "../model/silence.ts";

/** Event handlers of a source. It lists, calls `listed`, then reports changes; a failed read removes nothing. */
export interface SourceEvents {
  /** A fact was added or changed. `at`: time of arrival, in milliseconds of the clock. */
  importChanged(fact: ImportFact, at: number): void;
  importRemoved(key: ObjectKey, at: number): void;
  sliceChanged(fact: SliceFact, at: number): void;
  sliceRemoved(key: ObjectKey, at: number): void;
  /** The IPAddress of a VIP names this import; undefined: there is none any more. */
  vipHeld(vip: string, holder: ObjectKey | undefined, at: number): void;
  /** Parts of the observation of this node changed; an undefined part does not exist any more. */
  nodeObserved(part: Partial<NodeObservation>, at: number): void;
  /** What does not answer this node any more, all of it. */
  silenceChanged(silence: Silence, at: number): void;
  /** All current problems of one object (`object` as in Problem); an empty list clears them. */
  problems(object: string, problems: readonly Problem[]): void;
  /** The source has reported everything that existed when it started. */
  listed(): void;
}

/** A source of ServiceImports and EndpointSlices. Construction starts nothing. */
export interface Source {
  readonly name: string;
  /** Starts; returns immediately. The source recovers from faults until `stop`. */
  start(events: SourceEvents): void;
  stop(): Promise<void>;
}
