import { at, type Fields, isFields, leaves, put, remove } from "./fields.ts";

/** What a list or watch asks for. */
export interface Selection {
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
}

/** True if an object matches the request's selectors. Of labels: `key`, `!key`, `key=value` and `key in (a,b)`, joined by commas. */
export function selects(
  { namespace, labelSelector, fieldSelector }: Selection,
  object: Fields,
): boolean {
  if (namespace !== undefined && at(object, ["metadata", "namespace"]) !== namespace) return false;
  const name = /^metadata\.name=(.*)$/.exec(fieldSelector ?? "")?.[1];
  if (name !== undefined && at(object, ["metadata", "name"]) !== name) return false;
  if (labelSelector === undefined) return true;
  const labels = at(object, ["metadata", "labels"]);
  const terms = labelSelector.match(/(?:[^,(]|\([^)]*\))+/g) ?? [];
  return terms.every((term) => {
    const [, absent, key = "", value, values] =
      /^(!?)([^\s=]+)(?:==?(\S+)| in \((.*)\))?$/.exec(term.trim()) ?? [];
    const label = isFields(labels) ? labels[key] : undefined;
    if (absent === "!") return label === undefined;
    if (values !== undefined) return values.split(",").includes(String(label));
    return value === undefined ? label !== undefined : label === value;
  });
}

/** An object, the managers of its fields, and its name. */
interface Stored {
  object: Fields;
  readonly owners: Map<string, string>;
}

/** A write. `before`: what was there. */
export interface Change {
  readonly version: number;
  readonly kind: string;
  readonly key: string;
  readonly object: Fields;
  readonly before: Fields | undefined;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
}

/** All objects as they were at a version: a snapshot of etcd. */
export interface Saved {
  readonly version: number;
  readonly stored: Map<string, Stored>;
}

/** A refusal, as an API server has it. */
export class Refusal extends Error {
  readonly status: number;
  readonly details: object;

  constructor(status: number, message: string, details: object = {}) {
    super(message);
    this.status = status;
    this.details = details;
  }
}

/** Fields that only the API server sets. */
const SYSTEM_FIELDS = ["uid", "resourceVersion", "generation", "creationTimestamp"];
const SEPARATOR = "\u0000";

/**
 * What etcd and the logic of an API server are together: objects of all kinds by `resource namespace/name`, a version that
 * grows with every write, fields that belong to the client that applied them, and a history that does not last.
 */
export class MemoryObjects {
  version = 100;
  #stored = new Map<string, Stored>();
  readonly #listeners = new Set<(change: Change) => void>();
  #history: Change[] = [];
  #compacted = 0;
  #uids = 0;
  readonly #name: string;

  /** `name`: of the cluster, so that no two have an object of one uid. */
  constructor(name: string) {
    this.#name = name;
  }

  /** All objects of a kind. */
  list(kind: string): Fields[] {
    return [...this.#stored].flatMap(([id, { object }]) =>
      id.startsWith(`${kind} `) ? [object] : [],
    );
  }

  get(kind: string, key: string): Fields | undefined {
    return this.#stored.get(`${kind} ${key}`)?.object;
  }

  /**
   * Server-side apply, by force, of the object or of its status alone. Gives the object. Throws a Refusal where the
   * manifest names a uid or resourceVersion that is not the object's.
   */
  apply(kind: string, key: string, manifest: Fields, owner: string, part?: "status"): Fields {
    const id = `${kind} ${key}`;
    const stored = this.#stored.get(id);
    this.#check(key, manifest, stored);
    const metadata = at(manifest, ["metadata"]);
    const { uid: _u, resourceVersion: _r, ...named } = isFields(metadata) ? metadata : {};
    const wanted: Fields = structuredClone({ ...manifest, metadata: named });
    if (part === undefined) delete wanted.status;
    else for (const name of Object.keys(wanted)) if (name !== "status") delete wanted[name];
    const who = `${owner}${part ?? ""}`;
    const object: Fields = structuredClone(stored?.object ?? { metadata: {} });
    const owners = new Map(stored?.owners);
    const paths = leaves(wanted).filter((path) => path.length > 0);
    const ours = new Set(paths.map((path) => path.join(SEPARATOR)));
    for (const [path, other] of owners) {
      if (other !== who || ours.has(path)) continue;
      owners.delete(path);
      remove(object, path.split(SEPARATOR));
    }
    for (const path of paths) {
      owners.set(path.join(SEPARATOR), who);
      put(object, path, at(wanted, path));
    }
    return this.#write(kind, key, { object, owners });
  }

  /** The whole object becomes this one; what that changes is `owner`'s, in another part than what it applies. */
  replace(kind: string, key: string, manifest: Fields, owner: string): Fields {
    const stored = this.#stored.get(`${kind} ${key}`);
    this.#check(key, manifest, stored);
    const object = structuredClone(manifest);
    for (const name of SYSTEM_FIELDS) {
      const value = at(stored?.object, ["metadata", name]);
      if (value !== undefined) put(object, ["metadata", name], value);
    }
    const owners = new Map<string, string>();
    for (const path of leaves(object)) {
      if (path[0] === "metadata" && SYSTEM_FIELDS.includes(path[1] ?? "")) continue;
      const id = path.join(SEPARATOR);
      const same = JSON.stringify(at(stored?.object, path)) === JSON.stringify(at(manifest, path));
      owners.set(id, (same ? stored?.owners.get(id) : undefined) ?? `${owner} update`);
    }
    return this.#write(kind, key, { object, owners });
  }

  /** False if there was none. */
  delete(kind: string, key: string, preconditions: Fields = {}): boolean {
    const stored = this.#stored.get(`${kind} ${key}`);
    if (stored === undefined) return false;
    this.#check(key, { metadata: preconditions }, stored);
    this.#stored.delete(`${kind} ${key}`);
    const version = ++this.version;
    const object = structuredClone(stored.object);
    put(object, ["metadata", "resourceVersion"], String(version));
    this.#tell({ version, kind, key, object, before: stored.object, type: "DELETED" });
    return true;
  }

  /** Deletes history: no watch can continue from an older version. */
  compact(): void {
    this.#history = [];
    this.#compacted = this.version;
  }

  /** What was written after a version; undefined if that is no longer known. */
  since(version: number): readonly Change[] | undefined {
    if (version < this.#compacted) return undefined;
    return this.#history.filter((change) => change.version > version);
  }

  /** All objects of these kinds, or of all, as they are. */
  save(kinds?: readonly string[]): Saved {
    const stored = [...this.#stored].filter(
      ([id]) => kinds?.includes(id.split(" ")[0] ?? "") ?? true,
    );
    return { version: this.version, stored: structuredClone(new Map(stored)) };
  }

  /** Restores objects and version, without an event. `version`: another one. */
  restore({ stored, version }: Saved, to = version): void {
    this.#stored = structuredClone(new Map(stored));
    this.version = to;
    this.compact();
  }

  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #check(key: string, manifest: Fields, stored: Stored | undefined): void {
    for (const name of ["uid", "resourceVersion"]) {
      const wanted = at(manifest, ["metadata", name]);
      if (wanted === undefined) continue;
      // An API server ignores the version of an object that does not exist.
      if (name === "resourceVersion" && stored === undefined) continue;
      if (wanted !== at(stored?.object, ["metadata", name])) {
        throw new Refusal(409, `${key} has another ${name}`);
      }
    }
  }

  #write(kind: string, key: string, { object, owners }: Stored): Fields {
    const id = `${kind} ${key}`;
    const before = this.#stored.get(id)?.object;
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(object)) return before;
    const version = ++this.version;
    put(object, ["metadata", "resourceVersion"], String(version));
    if (before === undefined) {
      put(object, ["metadata", "uid"], `${this.#name}-${++this.#uids}`);
      const created = new Date(Date.UTC(2026, 0, 1) + version * 1000);
      put(object, ["metadata", "creationTimestamp"], created.toISOString());
    }
    const spec = (one: Fields | undefined) => JSON.stringify(one?.spec);
    const generation = Number(at(before, ["metadata", "generation"]) ?? 0);
    if (spec(before) !== spec(object) || before === undefined) {
      put(object, ["metadata", "generation"], generation + 1);
    }
    this.#stored.set(id, { object, owners });
    const type = before === undefined ? "ADDED" : "MODIFIED";
    this.#tell({ version, kind, key, object, before, type });
    return object;
  }

  #tell(change: Change): void {
    this.#history.push(change);
    for (const listener of this.#listeners) listener(change);
  }
}
