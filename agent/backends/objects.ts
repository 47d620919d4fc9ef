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

/** An object that is written; `before`: the digest of what the kernel holds of it. */
export interface Put<Content> {
  readonly before: string | undefined;
  readonly part: Part<Content>;
}

/** What makes the kernel hold what is desired, by ID. */
export interface Change<Content> {
  readonly puts: ReadonlyMap<string, Put<Content>>;
  readonly deletes: ReadonlyMap<string, HeldObject>;
}

/** Objects that services share, and that stay for a while when no service needs them. */
export interface Spares {
  readonly isSpare: (id: string) => boolean;
  /** So many stay. */
  readonly most: number;
  /** The digest of what the deletion of an object leaves, for the next one; undefined: nothing. */
  readonly remains: (id: string, digest: string) => string | undefined;
}

/** No object stays without an owner. */
export const NO_SPARES: Spares = { isSpare: () => false, most: 0, remains: () => undefined };

/** The desired objects: each exists as long as an owner has a part in it. The same parts give the same objects, whatever was set before. */
export class DesiredObjects<Content> {
  readonly #spares: Spares;
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

  constructor(spares: Spares) {
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

type Unneeded = readonly [id: string, held: HeldObject];

/** The change that makes the kernel hold these objects, in short steps. PURE. */
export function* changeOf<Content>(
  held: Held,
  { complete, objects, keeps }: Changes<Content>,
  spares: Spares,
): Generator<void, Change<Content>> {
  const puts = new Map<string, Put<Content>>();
  const deletes = new Map<string, HeldObject>();
  const unneeded: Unneeded[] = [];
  const unwanted = complete
    ? [...held.keys()].filter((id) => objects.get(id) === undefined)
    : [...objects].flatMap(([id, part]) => (part === undefined ? [id] : []));
  for (const id of unwanted) {
    const found = held.get(id);
    if (found === undefined) continue;
    if (spares.isSpare(id)) unneeded.push([id, found]);
    else deletes.set(id, found);
  }
  const isLeft = ([id, { digest }]: Unneeded) => spares.remains(id, digest) === undefined;
  const left = unneeded.filter(isLeft);
  const isFull = !keeps && unneeded.length - left.length > spares.most;
  for (const [id, found] of isFull ? unneeded : complete ? left : []) deletes.set(id, found);
  for (const [id, part] of objects) {
    yield;
    if (part === undefined || part === "kept") continue;
    const before = held.get(id);
    if (before?.digest !== part.digest) puts.set(id, { before: before?.digest, part });
  }
  return { puts, deletes };
}

/** Updates what the kernel holds after it has accepted a change; `undeleted`: objects that it did not delete. */
export function accept<Content>(
  held: Held,
  { puts, deletes }: Change<Content>,
  spares: Spares,
  undeleted: ReadonlySet<string> = new Set(),
): void {
  for (const [id, before] of deletes) {
    const digest = spares.remains(id, before.digest);
    if (digest !== undefined) held.set(id, { digest });
    else if (!undeleted.has(id)) held.delete(id);
  }
  for (const [id, { part }] of puts) {
    const { digest, importKey, isForwarded } = part;
    held.set(id, isForwarded === undefined ? { digest } : { digest, importKey, isForwarded });
  }
}

/** The IDs of objects that are not what they were, or only in one of the two. PURE. */
export function differences(before: Held, found: Held): string[] {
  const isSame = (id: string) => before.get(id)?.digest === found.get(id)?.digest;
  return [...new Set([...before.keys(), ...found.keys()])].filter((id) => !isSame(id));
}
