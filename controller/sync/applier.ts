import { isFields } from "../../api/parse/fields.ts";
import type { Clock } from "../../common/clock.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { hasHung } from "../../common/kubernetes/recovery.ts";
import type { ApiResource, ObjectName } from "../../common/kubernetes/resource.ts";
import type { ApiObject, ApiWriter, ObjectState } from "../../common/kubernetes/writer.ts";
import type { Manifest } from "../model/manifest.ts";
import { contentDigest, statusDigest } from "../stores/content-digest.ts";
import type { FactStore, Seen } from "../stores/fact-store.ts";
import { OverwriteBackoff } from "./overwrite-backoff.ts";
import { type Answers, refresh } from "./refresh.ts";

/** Dependencies of an `Applier`. */
export interface ApplierOptions {
  readonly resource: ApiResource;
  readonly writer: Pick<ApiWriter, "apply" | "delete" | "get" | "ownerOf">;
  /** The store of the kind. */
  readonly store: Pick<FactStore<unknown>, "beginWrite">;
  /** The informer of the kind; undefined before there is one. */
  readonly informer: () => { readonly reflector: Answers } | undefined;
  readonly clock: Clock;
  /** True: the controller chooses the names. An object that exists already, although the informer does not show it, is taken over. */
  readonly takesOver: boolean;
}

/** Digests of the last write of an object and of the answer, where they differ because of other writers' fields. */
interface Outcome {
  readonly wanted: string;
  readonly left: string;
}

type Part = "content" | "status";
/** A write of a part of an object, or its deletion. */
type Operation = Part | "removal";

/** Operations that are remembered as hanging. */
const MOST_HUNG = 10_000;
/**
 * Operations that hung before, and are tried again at the same time, of a namespace and of all, creations and others apart: fewer than what hangs may occupy of the workers of a queue
 * (`common/queue/hanging.ts`), so that a webhook for all namespaces leaves workers to what it does not hold up.
 */
const MOST_AGAIN = { namespace: 1, all: 3 } as const;
/** Milliseconds for which a namespace keeps its place in the line: longer than a queue waits between two attempts. */
const IN_LINE_MS = 70_000;

const DIGEST = { content: contentDigest, status: statusDigest } as const;

/**
 * Applies objects of one kind on one API server. A creation never overwrites an object. Nothing is written if the object already equals the manifest, or is as
 * the last write of the same manifest left it: additions of other writers cause no loop. Writers that revert our fields
 * are met with a backoff (`overwritten`).
 */
export class Applier {
  readonly #options: ApplierOptions;
  readonly #undeclared = new UndeclaredFields();
  readonly #backoff: Readonly<Record<Part, OverwriteBackoff>>;
  readonly #outcomes: Readonly<Record<Part, Map<string, Outcome>>> = {
    content: new Map(),
    status: new Map(),
  };
  /** Operations that hung when they were last tried, by object, and how that ended. */
  readonly #hung = new Map<string, ApiFault>();
  /** Of these, the namespaces of those that are being tried again. */
  readonly #again: string[] = [];
  /** Namespaces that were not let through, the one that has waited for longest first, and when they last asked: they take turns. */
  readonly #line = new Map<string, number>();
  /** State of objects that a creation found, until the next write: their informer may never show them, as without labels. */
  readonly #found = new Map<string, ObjectState>();

  constructor(options: ApplierOptions) {
    const { clock } = options;
    this.#options = options;
    this.#backoff = { content: new OverwriteBackoff(clock), status: new OverwriteBackoff(clock) };
  }

  /**
   * Applies a manifest; `seen`: the object's present state, undefined if it does not exist. True if it was written.
   * Throws an ApiFault; after a `write-conflict` the store is up to date. What another writer has reverted before fails as `overwritten` until a write has stayed.
   */
  apply(manifest: Manifest, seen: Seen | undefined): Promise<boolean> {
    return this.#write("content", manifest, seen);
  }

  /** Applies the status of an object. As `apply`. */
  applyStatus(manifest: Manifest, seen: Seen): Promise<boolean> {
    return this.#write("status", manifest, seen);
  }

  /** True for an object whose last write or deletion hung. */
  hangs(key: string, operation: Operation = "content"): boolean {
    return this.#hung.has(`${operation} ${key}`);
  }

  /** The whole object; undefined if it is not as it was seen. Throws an ApiFault. */
  async read(seen: Seen): Promise<unknown> {
    const { resource, writer } = this.#options;
    const found = await writer.get(resource, nameOf(seen.key));
    return found?.meta.resourceVersion === seen.resourceVersion ? found.object : undefined;
  }

  /** Deletes an object if it is as it was seen. Throws as `apply`. */
  async remove(seen: Seen): Promise<void> {
    const { resource, store, writer, informer } = this.#options;
    const name = nameOf(seen.key);
    const endAgain = this.#tryAgain("removal", seen.key);
    const end = store.beginWrite(seen.key, { part: "object" });
    try {
      await writer.delete(resource, name, seen);
      for (const part of ["content", "status"] as const) {
        this.#outcomes[part].delete(seen.key);
        this.#backoff[part].deleted(seen.key);
        this.#noteHang(part, seen.key, undefined);
      }
      this.#noteHang("removal", seen.key, undefined);
      informer()?.reflector.erased(seen, "deleted");
    } catch (thrown) {
      this.#noteHang("removal", seen.key, thrown);
      await this.#refresh(thrown, name, seen);
      throw thrown;
    } finally {
      end();
      endAgain();
    }
  }

  async #write(part: Part, whole: Manifest, seen: Seen | undefined): Promise<boolean> {
    const manifest = this.#undeclared.without(whole);
    const key = keyOf(manifest.metadata);
    const digest = DIGEST[part];
    const wanted = digest(manifest);
    const backoff = this.#backoff[part];
    if (seen !== undefined && this.#isDone(part, key, wanted, seen[part])) {
      if (backoff.isContested(key, manifest)) throw overwritten(key);
      return false;
    }
    if (backoff.isPaused(key, manifest)) throw overwritten(key);
    const endAgain = this.#tryAgain(part, key, seen === undefined);
    const end = this.#options.store.beginWrite(key, { part, digest: wanted });
    const state = seen ?? this.#found.get(key);
    this.#found.delete(key);
    try {
      const { object } = await this.#send(part, manifest, state);
      this.#noteHang(part, key, undefined);
      backoff.wrote(key, manifest);
      const left = digest(object);
      if (left === wanted) this.#outcomes[part].delete(key);
      else this.#outcomes[part].set(key, { wanted, left });
      this.#options.informer()?.reflector.wrote(object);
      if (backoff.isContested(key, manifest)) throw overwritten(key);
      return true;
    } catch (thrown) {
      this.#noteHang(part, key, thrown);
      if (this.#undeclared.learn(thrown)) return await this.#write(part, whole, seen);
      const found = await this.#refresh(thrown, manifest.metadata, seen);
      const isHidden = seen === undefined && found !== undefined;
      if (isHidden && this.#options.takesOver) this.#found.set(key, found);
      throw thrown;
    } finally {
      end();
      endAgain();
    }
  }

  /** Throws the fault of an operation that hung before, while enough of them are tried again. Otherwise returns what to call at its end. */
  #tryAgain(operation: Operation, key: string, isNew = false): () => void {
    const fault = this.#hung.get(`${operation} ${key}`);
    if (fault === undefined) return () => {};
    // A webhook may hang for new objects only.
    const kind = isNew ? "new" : "old";
    const own = `${kind} ${this.#options.writer.ownerOf(nameOf(key))}`;
    const now = this.#options.clock.now();
    for (const [one, at] of this.#line) if (now - at >= IN_LINE_MS) this.#line.delete(one);
    const line = [...this.#line.keys()].filter((one) => one.startsWith(kind));
    const same = this.#again.filter((one) => one === own).length;
    const all = this.#again.filter((one) => one.startsWith(kind)).length;
    const ahead = line.includes(own) ? line.indexOf(own) : line.length;
    if (same >= MOST_AGAIN.namespace || all + ahead >= MOST_AGAIN.all) {
      this.#line.set(own, now);
      throw fault;
    }
    this.#line.delete(own);
    this.#again.push(own);
    return () => void this.#again.splice(this.#again.indexOf(own), 1);
  }

  #noteHang(operation: Operation, key: string, thrown: unknown): void {
    const name = `${operation} ${key}`;
    this.#hung.delete(name);
    if (!hasHung(thrown)) return;
    // Names that nobody writes any more.
    if (this.#hung.size >= MOST_HUNG) this.#hung.clear();
    this.#hung.set(name, thrown);
  }

  #send(part: Part, manifest: Manifest, seen: ObjectState | undefined): Promise<ApiObject> {
    const { resource, writer } = this.#options;
    return writer.apply(resource, manifest, {
      ...(part === "status" && { subresource: part }),
      ...(seen !== undefined && { seen }),
    });
  }

  #isDone(part: Part, key: string, wanted: string, found: string): boolean {
    if (found === wanted) return true;
    const outcome = this.#outcomes[part].get(key);
    return outcome?.wanted === wanted && outcome.left === found;
  }

  #refresh(thrown: unknown, name: ObjectName, seen: Seen | undefined) {
    const { resource, writer, informer } = this.#options;
    return refresh(thrown, writer, resource, name, seen, informer()?.reflector);
  }
}

function overwritten(key: string): ApiFault {
  return new ApiFault("overwritten", `Another writer reverts ${key} after each write`);
}

function keyOf({ namespace, name }: ObjectName): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function nameOf(key: string): ObjectName {
  const [namespace = "", name] = key.split("/");
  return name === undefined ? { name: namespace } : { namespace, name };
}

/** structured-merge-diff's error (Kubernetes 1.16 to 1.36), with status 500. */
const UNDECLARED = /\.(spec|status)\.(\w+)[^\s:]*: field not declared in schema/g;

/** Reasons whose message is the API server's own: admission may say anything. */
const SERVERS: ReadonlySet<FaultReason> = new Set(["server-error", "write-failed"]);

/**
 * Fields that a CRD on some API server does not declare. A server-side apply with such a field is rejected as a whole, so
 * it is left out until the process ends. CRDs of mcs-api before v0.5.1 lack `status.endpointSliceObjects`.
 */
export class UndeclaredFields {
  readonly #fields = new Map<string, Set<string>>();

  /** True if an error names a new undeclared field: a retry without it may succeed. */
  learn(thrown: unknown): boolean {
    if (!(thrown instanceof ApiFault) || !SERVERS.has(thrown.reason)) return false;
    let news = false;
    for (const [, part = "", name = ""] of thrown.message.matchAll(UNDECLARED)) {
      const names = this.#fields.get(part) ?? new Set();
      news ||= !names.has(name);
      this.#fields.set(part, names.add(name));
    }
    return news;
  }

  /** The manifest without undeclared fields. */
  without(manifest: Manifest): Manifest {
    const parts = [...this.#fields].flatMap(([part, names]) => {
      const fields = manifest[part];
      if (!isFields(fields)) return [];
      return [[part, Object.fromEntries(Object.entries(fields).filter(([n]) => !names.has(n)))]];
    });
    return parts.length === 0 ? manifest : { ...manifest, ...Object.fromEntries(parts) };
  }
}
