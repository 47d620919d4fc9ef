import type { VirtualService } from "../plan/virtual-service.ts";
import type { Conflict, Drift, Programmed, SetOptions, Transaction } from "./backend.ts";
import type { Change, Changes, Held, Lifecycle, Part } from "./objects.ts";

/** What a reading has to find: everything; or, at a start, everything but what digests vouch for, and the imports; or only what a program deletes that flushes everything. */
export type ReadScope = "all" | "believed" | "gone";

/** What a reading found. */
export interface Found {
  readonly held: Held;
  /** The programs that probably deleted an object, by what is in its place. */
  readonly suspect?: (id: string) => string | undefined;
}

/** All that differs between backends whose kernel objects are in one table, for one IP family. */
export interface Dataplane<Content, Commands extends Transaction> {
  /** The objects as values. PURE. */
  readonly layout: Layout<Content, Commands>;
  /** Everything of ours in the kernel. What need not be read is as it was `held`. Rejects with a coded error, and once `stop` is aborted. */
  read(scope: ReadScope, held: Held, stop?: AbortSignal): Promise<Found>;
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

/** A dataplane of any kind. */
// biome-ignore lint/suspicious/noExplicitAny: the two types belong together, and only the dataplane reads them
export type AnyDataplane = Dataplane<any, any>;

/** The objects of a dataplane. All of it is PURE. */
export interface Layout<Content, Commands extends Transaction> extends Lifecycle<Content> {
  /** Objects that exist without any service. */
  readonly base: readonly Part<Content>[];
  /** How a new ruleset makes objects of services. */
  rendering(): Rendering<Content>;
  /** The IDs of what belongs to a service alone, whatever its endpoints are. */
  idsOf(service: VirtualService): readonly string[];
  /** True for what a reading of what is `gone` finds: objects that all services need. */
  isShared(id: string): boolean;
  /** The services with objects in the kernel. */
  programmed(held: Held): Programmed;
  /** Desired services that the kernel does not hold, because a foreign object is in their place. Absent: nothing foreign can be there. */
  conflicts?(held: Held): readonly Conflict[];
  /** What may be removed since it has no connection any more, by what was found. Absent: nothing has to wait for that. */
  garbage?(held: Held, found: Held): Change<Content>;
  /** A change of what the kernel holds, in the language of the kernel or its tool. */
  commands(change: Change<Content>, held: Held): Commands;
  /** What other programs did to these objects, by what was held before and what was found. */
  drift(ids: readonly string[], before: Held, found: Found): readonly Drift[];
}

/** How one ruleset makes objects of services: a value of its own, because parts of many services may share an object. */
export interface Rendering<Content> {
  /** What an import needs for these services, and for `kept` ones of it besides their own objects. */
  parts(services: readonly VirtualService[], options: SetOptions): readonly Part<Content>[];
  /** Puts parts that share an object into that object, in short steps. Absent: owners of the same object need the same of it. */
  join?(changes: Changes<Content>): Generator<void, Changes<Content>>;
}
