import type { ObjectKey } from "../../api/names.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type {
  CheckScope,
  Conflict,
  Drift,
  Programmed,
  Reading,
  SetOptions,
  Transaction,
} from "./backend.ts";
import type { AnyDataplane, Found, Layout, Rendering } from "./dataplane.ts";
import {
  accept,
  type Change,
  type Changes,
  changeOf,
  DesiredObjects,
  differences,
  type Held,
} from "./objects.ts";

/** The answer of a drift check. */
export interface Check {
  /** What other programs changed; empty if nothing. A repair is a read and a change. */
  readonly drift: readonly Drift[];
  /** Removes objects that are no longer needed, such as drained destinations; absent if there are none. */
  readonly garbage: KernelChange | undefined;
  readonly reading: Reading;
}

/** The answer of a check that had nothing to read. */
export const UNCHANGED: Check = { drift: [], garbage: undefined, reading: "none" };

/** The owner of what exists without any service. */
const BASE = "";

/**
 * What the kernel of one family should hold, and what it holds: one table of objects, for any dataplane.
 *
 * What it holds is what was last read or accepted. It is not known at first, while a change is being written, and after that failed.
 */
export class KernelTable {
  readonly #dataplane: AnyDataplane;
  #desired: DesiredServices<unknown>;
  #held: Held | undefined;
  /** True from the first service that is set until the change is accepted. */
  #isChanging = false;
  /** Changes written. */
  #written = 0;
  /** What other programs had changed when the last check found no drift. */
  #checkedAt: string | undefined;
  /** Whether digests are believed: until something was written, or a check has read everything. */
  #believes = true;
  /** What a check that found drift has read, as long as nothing has changed since: the repair reads the same. */
  #found: { readonly others: string; readonly held: Held } | undefined;

  constructor(dataplane: AnyDataplane) {
    this.#dataplane = dataplane;
    this.#desired = new DesiredServices(dataplane.layout);
  }

  /** True if it is known what the kernel holds. */
  get isKnown(): boolean {
    return this.#held !== undefined;
  }

  /** True if a check can compare: it is known what the kernel holds, and no change is under way. */
  get isComparable(): boolean {
    return this.isKnown && !this.#isChanging;
  }

  /** The services that the kernel holds objects of. */
  get programmed(): Programmed {
    return this.#dataplane.layout.programmed(this.#held ?? new Map());
  }

  /** Desired services that the kernel does not hold, because a foreign object is in their place. */
  get conflicts(): readonly Conflict[] {
    return this.#dataplane.layout.conflicts?.(this.#held ?? new Map()) ?? [];
  }

  /** It is not known any more what the kernel holds. */
  forget(): void {
    this.#held = undefined;
  }

  /** Nothing is desired: everything is set again, and what is not set is deleted by the next change. */
  clear(): void {
    this.#isChanging = true;
    this.#desired = new DesiredServices(this.#dataplane.layout);
  }

  /** Sets the services of one import; an empty list removes it. */
  set(key: ObjectKey, services: readonly VirtualService[], options: SetOptions = {}): void {
    this.#isChanging = true;
    this.#desired.set(key, services, options);
  }

  /**
   * The change that makes the kernel hold what is desired, at a cost in proportion to the imports set since the last one, in short steps between which others may
   * run. Empty if the kernel holds that.
   */
  *change(): Generator<void, KernelChange> {
    return yield* changeTo(
      this.#dataplane.layout,
      this.#held ?? new Map(),
      yield* this.#desired.take(),
    );
  }

  /** Makes a change live. Rejects if the kernel does; what it holds is then unknown until it is read. */
  async write(change: KernelChange): Promise<void> {
    const held = this.#held ?? new Map();
    if (!change.empty) {
      this.#held = undefined;
      this.#written++;
      this.#believes = false;
      this.#found = undefined;
      const { commands } = change;
      change.settle(held, commands.empty ? undefined : await this.#dataplane.write(commands));
    }
    this.#held = held;
    this.#isChanging = false;
  }

  /**
   * Reads back everything of ours. Returns what other programs changed, if it was known what the kernel held. Believes digests at a start: the first check reads
   * everything. Rejects with a coded error, and at once when `stop` is aborted.
   */
  async read(stop?: AbortSignal): Promise<readonly Drift[]> {
    const before = this.#held;
    this.#held = undefined;
    const found = this.#found;
    this.#found = undefined;
    const isCurrent = found !== undefined && found.others === (await this.#dataplane.changes());
    const scope = this.#believes ? "believed" : "all";
    const held = isCurrent ? found.held : (await this.#dataplane.read(scope, new Map(), stop)).held;
    this.#held = held;
    return before === undefined ? [] : this.#drift(before, { held });
  }

  /**
   * Compares the kernel with what it should hold if another program has changed anything since it was last as it should be; finds nothing while that is unknown.
   * Read-only, and allowed to run beside `write`; the answer is then discarded. Rejects as `read` does.
   */
  async check(scope: CheckScope = "all", stop?: AbortSignal): Promise<Check> {
    const held = this.#held;
    if (held === undefined || !this.isComparable) return UNCHANGED;
    const others = await this.#dataplane.changes();
    if (others !== undefined && others === this.#checkedAt) return UNCHANGED;
    const reading = others === undefined ? "routine" : "prompted";
    const written = this.#written;
    if (scope === "all") this.#believes = false;
    const found = await this.#dataplane.read(scope, held, stop);
    const { layout } = this.#dataplane;
    if (scope === "gone") {
      const drift = this.#drift(held, found, (id) => layout.isShared(id));
      return { drift, garbage: undefined, reading };
    }
    const drift = this.#drift(held, found);
    const isSame = drift.length === 0;
    this.#checkedAt = isSame ? others : undefined;
    if (!isSame && others !== undefined && written === this.#written)
      this.#found = { others, held: found.held };
    return { drift, garbage: isSame ? this.#garbage(held, found.held) : undefined, reading };
  }

  /** Ends helper processes; leaves the kernel as it is. */
  close(): Promise<void> {
    return this.#dataplane.close();
  }

  #garbage(held: Held, found: Held): KernelChange | undefined {
    const { layout } = this.#dataplane;
    const change = layout.garbage?.(held, found);
    if (change === undefined) return undefined;
    const garbage = new KernelChange(change, layout.commands(change, held));
    return garbage.empty ? undefined : garbage;
  }

  /** Drift of all objects, or of some. */
  #drift(before: Held, found: Found, isMeant = (_id: string) => true): readonly Drift[] {
    if (before.size === 0) return [];
    const ids = differences(before, found.held).filter(isMeant);
    return this.#dataplane.layout.drift(ids, before, found);
  }
}

/** The change that makes a kernel hold these objects, in short steps. PURE. */
export function* changeTo<Content, Commands extends Transaction>(
  layout: Layout<Content, Commands>,
  held: Held,
  changes: Changes<Content>,
): Generator<void, KernelChange<Content, Commands>> {
  const change = yield* changeOf(held, changes, layout);
  return new KernelChange(change, layout.commands(change, held));
}

/** The desired objects of one family, from virtual services. In memory only. Equal services give equal objects, whatever was set before. */
export class DesiredServices<Content> {
  readonly #layout: Layout<Content, Transaction>;
  readonly #rendering: Rendering<Content>;
  readonly #objects: DesiredObjects<Content>;

  constructor(layout: Layout<Content, Transaction>) {
    this.#layout = layout;
    this.#rendering = layout.rendering();
    this.#objects = new DesiredObjects(layout);
    this.#objects.set(BASE, layout.base);
  }

  /** Sets the services of one import; an empty list removes it. */
  set(key: ObjectKey, services: readonly VirtualService[], options: SetOptions = {}): void {
    const ids = options.kept?.flatMap((service) => this.#layout.idsOf(service));
    this.#objects.set(key, this.#rendering.parts(services, options), ids);
  }

  /** What changed since the last call, in short steps between which nothing may be set. The first result is complete: what it does not name is not desired. */
  *take(): Generator<void, Changes<Content>> {
    const rendering = this.#rendering;
    const changes = this.#objects.take();
    return rendering.join === undefined ? changes : yield* rendering.join(changes);
  }
}

/** A change of the kernel, and of what is known of it. */
export class KernelChange<Content = unknown, Commands extends Transaction = Transaction>
  implements Transaction
{
  readonly commands: Commands;
  readonly #change: Change<Content>;

  constructor(change: Change<Content>, commands: Commands) {
    this.#change = change;
    this.commands = commands;
  }

  /** A change may have no commands: what the kernel holds is then only known better. */
  get empty(): boolean {
    return this.#change.puts.size + this.#change.deletes.size === 0;
  }

  get writes(): number {
    return this.commands.writes;
  }

  get deletes(): number {
    return this.commands.deletes;
  }

  /** Updates what the kernel holds after it has accepted the change, but for these objects. */
  settle(held: Held, undeleted?: ReadonlySet<string>): void {
    accept(held, this.#change, undeleted);
  }

  toString(): string {
    return this.commands.toString();
  }
}
