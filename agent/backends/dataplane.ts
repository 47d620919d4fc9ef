import type { VirtualService } from "../plan/virtual-service.ts";
import type { Drift, Transaction } from "./backend.ts";
import type { Change, Held, Part, Spares } from "./objects.ts";

/** What a reading has to find: everything; or everything but what digests vouch for, at a start; or only what a program deletes that flushes everything. */
export type ReadScope = "all" | "believed" | "gone";

/** All that differs between backends whose kernel objects are in one table, for one IP family. */
export interface Dataplane<Content, Commands extends Transaction> {
  /** The objects as values. PURE. */
  readonly layout: Layout<Content, Commands>;
  /** Everything of ours in the kernel. Rejects with a coded error, and once `stop` is aborted. */
  read(scope: ReadScope, stop?: AbortSignal): Promise<Held>;
  /**
   * Makes a change live, or rejects: the kernel's state is then unknown until it is read. Returns the objects that the kernel does not delete yet, because it
   * still uses them.
   */
  write(commands: Commands): Promise<ReadonlySet<string>>;
  /** Says what other programs have changed in all, so that it differs after each change; undefined: the kernel does not tell. */
  changes(): Promise<string | undefined>;
  /** Ends helper processes. */
  close(): Promise<void>;
}

/** The objects of a dataplane. All of it is PURE. */
export interface Layout<Content, Commands extends Transaction> extends Spares {
  /** Objects that exist without any service. */
  readonly base: readonly Part<Content>[];
  /** What a service needs. */
  parts(service: VirtualService): readonly Part<Content>[];
  /** The IDs of what belongs to a service alone, whatever its endpoints are: one for each of its VIPs. */
  idsOf(service: VirtualService): readonly string[];
  /** A change in the language of the kernel or its tool. */
  commands(change: Change<Content>): Commands;
  /** What other programs did to these objects, by what was found. */
  drift(ids: readonly string[], found: Held): readonly Drift[];
}
