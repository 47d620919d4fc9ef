import type { ObjectKey } from "../../api/names.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import {
  type Backend,
  type Check,
  type CheckScope,
  type Conflict,
  type Drift,
  type Programmed,
  type Ruleset,
  type SetOptions,
  type Transaction,
  UNCHANGED,
} from "./backend.ts";
import type { Dataplane, Found, Layout, Rendering } from "./dataplane.ts";
import {
  accept,
  type Change,
  type Changes,
  changeOf,
  DesiredObjects,
  differences,
  type Held,
} from "./objects.ts";

/** The owner of what exists without any service. */
const BASE = "";

/** The backend of one family for any dataplane: what the kernel should hold and holds is one table of objects. */
export class TableBackend<Content, Commands extends Transaction>
  implements Backend<Held, Changes<Content>, TableTransaction<Content, Commands>>
{
  readonly #dataplane: Dataplane<Content, Commands>;
  readonly #layout: Layout<Content, Commands>;
  /** Transactions begun. */
  #applied = 0;
  /** What other programs had changed when the last check found no drift. */
  #checkedAt: string | undefined;
  /** Whether digests are believed: until something was applied, or a check has read everything. */
  #believes = true;
  /** What a check that found drift has read, as long as nothing has changed since: the repair reads the same. */
  #found: { readonly others: string; readonly held: Held } | undefined;

  constructor(dataplane: Dataplane<Content, Commands>) {
    this.#dataplane = dataplane;
    this.#layout = dataplane.layout;
  }

  ruleset(): ObjectRuleset<Content> {
    return new ObjectRuleset(this.#layout);
  }

  empty(): Held {
    return new Map();
  }

  programmed(held: Held): Programmed {
    return this.#layout.programmed(held);
  }

  conflicts(held: Held): readonly Conflict[] {
    return this.#layout.conflicts?.(held) ?? [];
  }

  *diff(
    held: Held,
    changes: Changes<Content>,
  ): Generator<void, TableTransaction<Content, Commands>> {
    const change = yield* changeOf(held, changes, this.#layout);
    return new TableTransaction(change, this.#layout.commands(change, held));
  }

  compare(before: Held, found: Held): readonly Drift[] {
    return this.#drift(before, { held: found });
  }

  /** Believes digests at a start: the first check reads everything. */
  async read(stop?: AbortSignal): Promise<Held> {
    const found = this.#found;
    this.#found = undefined;
    if (found !== undefined && found.others === (await this.#dataplane.changes()))
      return found.held;
    const scope = this.#believes ? "believed" : "all";
    return (await this.#dataplane.read(scope, new Map(), stop)).held;
  }

  /** Compares everything if another program has changed anything since it was last as it should be. */
  async check(
    held: Held,
    scope: CheckScope = "all",
    stop?: AbortSignal,
  ): Promise<Check<TableTransaction<Content, Commands>>> {
    const others = await this.#dataplane.changes();
    if (others !== undefined && others === this.#checkedAt) return UNCHANGED;
    const reading = others === undefined ? "routine" : "prompted";
    const applied = this.#applied;
    if (scope === "all") this.#believes = false;
    const found = await this.#dataplane.read(scope, held, stop);
    if (scope === "gone") return { drift: this.#gone(held, found), garbage: undefined, reading };
    const drift = this.#drift(held, found);
    const isSame = drift.length === 0;
    this.#checkedAt = isSame ? others : undefined;
    if (!isSame && others !== undefined && applied === this.#applied)
      this.#found = { others, held: found.held };
    return { drift, garbage: isSame ? this.#garbage(held, found.held) : undefined, reading };
  }

  async apply(tx: TableTransaction<Content, Commands>, held: Held): Promise<void> {
    this.#applied++;
    this.#believes = false;
    this.#found = undefined;
    tx.settle(held, await this.#dataplane.write(tx.commands));
  }

  close(): Promise<void> {
    return this.#dataplane.close();
  }

  /** Drift of all objects, or of some. */
  #drift(before: Held, found: Found, isMeant = (_id: string) => true): readonly Drift[] {
    if (before.size === 0) return [];
    return this.#layout.drift(differences(before, found.held).filter(isMeant), before, found);
  }

  #garbage(held: Held, found: Held): TableTransaction<Content, Commands> | undefined {
    const change = this.#layout.garbage?.(held, found);
    if (change === undefined) return undefined;
    const tx = new TableTransaction(change, this.#layout.commands(change, held));
    return tx.empty ? undefined : tx;
  }

  /** Drift of all objects but those of one service each. */
  #gone(held: Held, found: Found): readonly Drift[] {
    return this.#drift(held, found, (id) => this.#layout.isShared(id));
  }
}

/** The desired objects of one family. */
export class ObjectRuleset<Content> implements Ruleset<Changes<Content>> {
  readonly #layout: Layout<Content, Transaction>;
  readonly #rendering: Rendering<Content>;
  readonly #objects: DesiredObjects<Content>;

  constructor(layout: Layout<Content, Transaction>) {
    this.#layout = layout;
    this.#rendering = layout.rendering();
    this.#objects = new DesiredObjects(layout);
    this.#objects.set(BASE, layout.base);
  }

  set(key: ObjectKey, services: readonly VirtualService[], options: SetOptions = {}): void {
    const ids = options.kept?.flatMap((service) => this.#layout.idsOf(service));
    this.#objects.set(key, this.#rendering.parts(services, options), ids);
  }

  *take(): Generator<void, Changes<Content>> {
    return yield* this.#rendering.join(this.#objects.take());
  }
}

/** A change of the kernel, and of what is known of it. */
export class TableTransaction<Content, Commands extends Transaction> implements Transaction {
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

  /** Updates what the kernel holds after it has accepted the transaction, but for these objects. */
  settle(held: Held, undeleted?: ReadonlySet<string>): void {
    accept(held, this.#change, undeleted);
  }

  toString(): string {
    return this.commands.toString();
  }
}
