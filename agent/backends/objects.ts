import type { ObjectKey } from "../../api/names.ts";

/** An object in the kernel, as far as the agent remembers it: a chain, or all that belongs to one VIP and port. */
export interface HeldObject {
  /** Differs if anything in the object does. Only its backend reads it: it may say what a deletion needs. */
  readonly digest: string;
  /** Of a VIP, or of a VIP and port: the import that it is for. */
  readonly importKey?: ObjectKey | undefined;
  /** Of a VIP and port: true if there is an endpoint. */
  readonly isForwarded?: boolean;
  /** Of what several services share, as it was read at a start: the import of each VIP and port in it, by its text. */
  readonly entries?: ReadonlyMap<string, ObjectKey>;
}

/** What the kernel holds, by the ID of the object. */
export type Held = Map<string, HeldObject>;

/** A part that an owner has in an object. Owners of the same object need the same of it; an object that is for one import belongs to the last that has set it. */
export interface Part<Content> extends HeldObject {
  /** The object: `chain pick-65`, `f1000001 TCP 80`. */
  readonly id: string;
  /** What is written; in memory only until it is. */
  readonly content: Content;
}

/** Objects that are desired, `kept` as the kernel holds them, or no longer desired. */
export interface Changes<Content> {
  /** True if these are all: others are not desired. */
  readonly complete: boolean;
  readonly objects: ReadonlyMap<string, Part<Content> | "kept" | undefined>;
  /** True if some object is kept: what it needs of others is not known, so they stay. */
  readonly keeps: boolean;
}

/** An object that changes: the digests of what the kernel holds of it, before and after; undefined: nothing. */
export interface Transition {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** An object that is written. */
export interface Put<Content> extends Transition {
  readonly part: Part<Content>;
}

/** An object that is no longer desired. */
export interface Deletion extends Transition {
  readonly before: string;
}

/** What makes the kernel hold what is desired, by ID. */
export interface Change<Content> {
  readonly puts: ReadonlyMap<string, Put<Content>>;
  readonly deletes: ReadonlyMap<string, Deletion>;
}

/** What becomes of objects. PURE. */
export interface Lifecycle<Content> {
  /**
   * The digest of what the kernel holds of an object once it is written or, without a part, deleted; undefined: nothing. It may be more than is desired, for
   * connections that end later, or as a mark for the next deletion. The object is not touched if that is what the kernel holds.
   */
  readonly after: (
    id: string,
    before: string | undefined,
    part: Part<Content> | undefined,
  ) => string | undefined;
  /** True for an object that services share, and that stays for a while when no service needs it. */
  readonly isSpare: (id: string) => boolean;
  /** So many of these stay. */
  readonly most: number;
}

/** Of a backend whose objects are as desired, or deleted. */
export const PLAIN: Lifecycle<unknown> = {
  after: (_id, _before, part) => part?.digest,
  isSpare: () => false,
  most: 0,
};

/** The desired objects: each exists as long as an owner has a part in it. The same parts give the same objects, whatever was set before. */
export class DesiredObjects<Content> {
  readonly #spares: Pick<Lifecycle<Content>, "isSpare" | "most">;
  /** The IDs of each owner's objects. */
  readonly #ids = new Map<string, readonly string[]>();
  /** The owner of each object, or the owners. */
  readonly #owners = new Map<string, string | Set<string>>();
  /** Owners with objects that are kept. */
  readonly #keeping = new Set<string>();
  /** Spares that no owner needs. */
  readonly #unneeded = new Set<string>();
  #changed = new Map<string, Part<Content> | "kept" | undefined>();
  #taken = false;

  constructor(spares: Pick<Lifecycle<Content>, "isSpare" | "most">) {
    this.#spares = spares;
  }

  /** Sets all parts of an owner, and the IDs of objects that stay as they are. Without any, the owner is gone. */
  set(owner: string, parts: readonly Part<Content>[], kept: readonly string[] = []): void {
    const before = this.#ids.get(owner) ?? [];
    const after = new Set([...parts.map(({ id }) => id), ...kept]);
    if (after.size === 0) this.#ids.delete(owner);
    else this.#ids.set(owner, [...after]);
    if (kept.length === 0) this.#keeping.delete(owner);
    else this.#keeping.add(owner);
    for (const id of before) if (!after.has(id)) this.#remove(id, owner);
    for (const id of kept) {
      this.#add(id, owner);
      this.#changed.set(id, "kept");
    }
    for (const part of parts) {
      // Another import may have had it before.
      if (part.importKey === undefined) this.#add(part.id, owner);
      else this.#owners.set(part.id, owner);
      this.#changed.set(part.id, part);
    }
  }

  /** What may have changed since the last call; the first time, everything. */
  take(): Changes<Content> {
    const complete = !this.#taken;
    this.#taken = true;
    const objects = this.#changed;
    this.#changed = new Map();
    for (const id of this.#unneeded) objects.set(id, undefined);
    return { complete, objects, keeps: this.#keeping.size > 0 };
  }

  #add(id: string, owner: string): void {
    const owners = this.#owners.get(id);
    this.#unneeded.delete(id);
    if (owners instanceof Set) owners.add(owner);
    else if (owners === undefined || owners === owner) this.#owners.set(id, owner);
    else this.#owners.set(id, new Set([owners, owner]));
  }

  #remove(id: string, owner: string): void {
    const owners = this.#owners.get(id);
    if (owners instanceof Set) {
      owners.delete(owner);
      if (owners.size > 0) return;
    } else if (owners !== owner) return;
    this.#owners.delete(id);
    this.#changed.set(id, undefined);
    if (!this.#spares.isSpare(id)) return;
    this.#unneeded.add(id);
    const [oldest = ""] = this.#unneeded;
    // Two deletions have taken it: of the last `most`, and of those before.
    if (this.#unneeded.size > 3 * this.#spares.most + 3) this.#unneeded.delete(oldest);
  }
}

/** The change that makes the kernel hold these objects, in short steps. PURE. */
export function* changeOf<Content>(
  held: Held,
  { complete, objects, keeps }: Changes<Content>,
  lifecycle: Lifecycle<Content>,
): Generator<void, Change<Content>> {
  const puts = new Map<string, Put<Content>>();
  const deletes = new Map<string, Deletion>();
  const spares = new Map<string, Deletion>();
  const unwanted = complete
    ? [...held.keys()].filter((id) => objects.get(id) === undefined)
    : [...objects].flatMap(([id, part]) => (part === undefined ? [id] : []));
  for (const id of unwanted) {
    const before = held.get(id)?.digest;
    if (before === undefined) continue;
    const after = lifecycle.after(id, before, undefined);
    if (after !== before) (lifecycle.isSpare(id) ? spares : deletes).set(id, { before, after });
  }
  const left = [...spares].filter(([, { after }]) => after === undefined);
  const isFull = !keeps && spares.size - left.length > lifecycle.most;
  for (const [id, spare] of isFull ? spares : complete ? left : []) deletes.set(id, spare);
  for (const [id, part] of objects) {
    yield;
    if (part === undefined || part === "kept") continue;
    const before = held.get(id)?.digest;
    const after = lifecycle.after(id, before, part);
    if (after !== before) puts.set(id, { before, after, part });
  }
  return { puts, deletes };
}

/** Updates what the kernel holds after it has accepted a change; `undeleted`: objects that it did not delete. */
export function accept<Content>(
  held: Held,
  { puts, deletes }: Change<Content>,
  undeleted: ReadonlySet<string> = new Set(),
): void {
  for (const [id, { after }] of deletes) {
    if (after !== undefined) held.set(id, { digest: after });
    else if (!undeleted.has(id)) held.delete(id);
  }
  for (const [id, { after, part }] of puts) {
    const { importKey, isForwarded } = part;
    if (after === undefined) held.delete(id);
    else if (isForwarded === undefined) held.set(id, { digest: after });
    else held.set(id, { digest: after, importKey, isForwarded });
  }
}

/** The IDs of objects that are not what they were, or only in one of the two. PURE. */
export function differences(before: Held, found: Held): string[] {
  const isSame = (id: string) => before.get(id)?.digest === found.get(id)?.digest;
  return [...new Set([...before.keys(), ...found.keys()])].filter((id) => !isSame(id));
}
