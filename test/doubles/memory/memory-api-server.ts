import type { Clock } from "../../../common/clock.ts";
import { ApiFault } from "../../../common/kubernetes/api-fault.ts";
import type {
  ApiRequest,
  ApiResponse,
  ApiServer,
  ApiWrite,
} from "../../../common/kubernetes/api-server.ts";
import { Recovery } from "../../../common/kubernetes/recovery.ts";
import { ByteStream } from "../byte-stream.ts";
import { forward, type InitialEvents, type RequestFault, type WatchFault } from "./faults.ts";
import { at, type Fields, isFields } from "./fields.ts";
import { type Change, MemoryObjects, Refusal, type Selection, selects } from "./object-table.ts";

/** What is written, by whom and how: `PATCH serviceimports shop/web`. */
export interface Written {
  readonly method: string;
  readonly kind: string;
  readonly key: string;
}

/** How bad the ways to an API server are; chances from 0 to 1. */
export interface Weather {
  /** Milliseconds that an event, a request or an answer takes at most. */
  readonly delay: number;
  /** Requests that never arrive, and those whose answer is lost. */
  readonly lost: number;
}

export const FINE: Weather = { delay: 3, lost: 0 };
/** All is immediate. */
export const CALM: Weather = { delay: 0, lost: 0 };

interface Watch {
  readonly stream: ByteStream;
  frozen: boolean;
  last: string | undefined;
}

/** Milliseconds between bookmarks. */
const BOOKMARKS = 60_000;
/** Milliseconds until a client gives up a server that accepts and does not answer. */
const SILENCE = 30_000;

/**
 * An API server of all kinds, in memory: lists in pages, watches that begin with everything, server-side apply,
 * preconditions, labels, status as a subresource, and faults. Its version grows with every write that changes something.
 */
export class MemoryApiServer implements ApiServer {
  readonly address: string;
  readonly recovery = new Recovery();
  readonly objects: MemoryObjects;
  /** All writes that were let in, changes or not. */
  readonly writes: Written[] = [];
  weather = FINE;
  /** True: it is unreachable. */
  down = false;
  /** Results of admission for writes of objects, by key. */
  readonly denied = new Map<string, string>();
  /** Admission of creations: throws a Refusal of what it does not admit. */
  admit: (creation: Written) => void = () => {};
  /** Admission of all writes, also of deletions and of a status: throws a Refusal of what it does not admit. */
  admitWrite: (write: Written, subresource: string | undefined) => void = () => {};
  /** Resources that it does not have. */
  readonly unserved = new Set<string>();
  /** Faults of the next requests; then they succeed. */
  readonly faults: RequestFault[] = [];
  /** Paths of all requests. */
  readonly asked: string[] = [];
  /** Served versions of all kinds; undefined: any. */
  served: readonly string[] | undefined;
  initialEvents: InitialEvents = "sent";
  /** Objects in a page at most, with any requested limit. */
  page = Number.POSITIVE_INFINITY;
  /** Bytes in a chunk at most. */
  chunk = 100_000;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #watches = new Set<Watch>();
  readonly #pages = new Map<string, { items: Fields[]; version: number }>();

  constructor(name: string, clock: Clock, random: () => number) {
    this.address = `memory:${name}`;
    this.objects = new MemoryObjects(name);
    this.#clock = clock;
    this.#random = random;
  }

  async request({ path, signal, silence, write }: ApiRequest): Promise<ApiResponse> {
    signal.throwIfAborted();
    this.asked.push(path);
    const fault = this.faults.shift();
    if (fault?.kind === "refused") throw new ApiFault("unreachable", "Refused");
    if (fault?.kind === "silent") await this.#silence(signal);
    await this.#way(signal);
    const stream = this.#stream(signal, silence);
    if (fault?.kind === "status")
      return status(stream, fault.status, { retryAfter: fault.retryAfter });
    if (fault?.kind === "body") return answer(stream, 200, fault.text);
    const response = await this.#answer(parsePath(path), stream, signal, write);
    if (fault?.kind !== "half") return response;
    const half = this.#stream(signal, silence);
    void forward(stream, half, fault);
    return { ...response, body: half };
  }

  async close(): Promise<void> {}

  /** It is unreachable from now on, and all connections break. */
  fail(): void {
    this.down = true;
    this.cut();
  }

  /** Open watches. */
  get watches(): number {
    return this.#watches.size;
  }

  /** All connections break. */
  cut(): void {
    this.disturb("reset");
  }

  /** A restart, a compaction, or a broken connection: for all running watches. */
  disturb(fault: WatchFault): void {
    for (const watch of this.#watches) {
      const { frozen, last, stream } = watch;
      if (fault === "close") stream.end();
      if (fault === "reset") stream.fail(new ApiFault("unreachable", "Reset"));
      if (fault === "freeze") watch.frozen = true;
      if (fault === "garbage") stream.write("{nonsense}\n");
      if (fault === "half-line") {
        stream.write('{"type":"DELE');
        stream.end();
      }
      // Not behind events that are held back: the order of a watch is never wrong.
      if (fault === "repeat" && !frozen && last !== undefined) stream.write(last);
      if (fault === "expired") {
        stream.write(line("ERROR", { kind: "Status", code: 410, message: "too old" }));
        stream.end();
      }
    }
  }

  #stream(signal: AbortSignal, silence: number): ByteStream {
    const stream = new ByteStream(this.#clock, silence, this.chunk);
    signal.addEventListener("abort", () => stream.abandon(signal.reason), { once: true });
    return stream;
  }

  async #answer(
    asked: Asked,
    stream: ByteStream,
    signal: AbortSignal,
    write: ApiWrite | undefined,
  ): Promise<ApiResponse> {
    try {
      const isServed = this.served?.includes(asked.apiVersion.replace(/^.*\//, "")) ?? true;
      if (!isServed || this.unserved.has(asked.kind)) throw new Refusal(404, "page not found");
      if (write !== undefined) {
        const body = JSON.stringify(this.#written(asked, write));
        await this.#way(signal);
        return answer(stream, 200, body);
      }
      if (asked.query.get("watch") === "true") return this.#watch(asked, stream);
      return answer(stream, 200, JSON.stringify(this.#read(asked)));
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      return status(stream, thrown.status, thrown);
    }
  }

  async #silence(signal: AbortSignal): Promise<void> {
    await this.#wait(SILENCE, signal);
    throw new ApiFault("stalled", "No answer");
  }

  async #way(signal: AbortSignal): Promise<void> {
    const { delay } = this.weather;
    if (delay > 0) await this.#wait(this.#random() * delay, signal);
    if (this.down || this.#random() < this.weather.lost) {
      throw new ApiFault("unreachable", "Nobody answers");
    }
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(ms, resolve);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    return promise.finally(cancel);
  }

  #written({ kind, namespace, name, subresource, query }: Asked, write: ApiWrite): Fields {
    const { method, body } = write;
    const manifest: Fields = isFields(body) ? body : {};
    const named = name ?? String(at(manifest, ["metadata", "name"]));
    const key = namespace === undefined ? named : `${namespace}/${named}`;
    this.writes.push({ method, kind, key });
    const denial = this.denied.get(key);
    if (denial !== undefined) throw new Refusal(403, denial, { name: named });
    this.admitWrite({ method, kind, key }, subresource);
    const there = this.objects.get(kind, key);
    if (method !== "DELETE" && there === undefined) this.admit({ method, kind, key });
    const details = { name: named };
    if (method !== "DELETE" && there === undefined && namespace !== undefined) {
      if (this.objects.get("namespaces", namespace) === undefined) {
        throw new Refusal(404, `no namespace ${namespace}`, { name: namespace });
      }
    }
    const owner = query.get("fieldManager") ?? "nobody";
    if (method === "DELETE") {
      const preconditions = at(manifest, ["preconditions"]);
      const gone = this.objects.delete(kind, key, isFields(preconditions) ? preconditions : {});
      if (!gone) throw new Refusal(404, `no ${key}`, details);
      return { kind: "Status", status: "Success" };
    }
    if (method === "POST" && there !== undefined) throw new Refusal(409, `${key} exists`);
    if (method === "PUT" && there === undefined) throw new Refusal(404, `no ${key}`, details);
    if (write.contentType === "application/merge-patch+json") {
      if (there === undefined) throw new Refusal(404, `no ${key}`, details);
      return this.objects.replace(kind, key, merged(there, manifest), owner);
    }
    if (method !== "PATCH") return this.objects.replace(kind, key, manifest, owner);
    if (subresource === "status" && there === undefined) {
      throw new Refusal(404, `no ${key}`, details);
    }
    const part = subresource === "status" ? subresource : undefined;
    return this.objects.apply(kind, key, manifest, owner, part);
  }

  #read({ kind, namespace, name, apiVersion, query }: Asked): Fields {
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    if (name !== undefined && key !== undefined) {
      const found = this.objects.get(kind, key);
      if (found === undefined) throw new Refusal(404, `no ${key}`, { name });
      return found;
    }
    const token = query.get("continue");
    const now = {
      items: this.#selected(kind, selectionOf(namespace, query)),
      version: this.objects.version,
    };
    const { items, version } = token === null ? now : (this.#pages.get(token) ?? {});
    if (items === undefined || version === undefined || this.objects.since(version) === undefined) {
      throw new Refusal(410, "the list has expired");
    }
    const limit = Math.min(Number(query.get("limit") ?? this.page), this.page);
    const rest = items.slice(limit);
    const next = rest.length === 0 ? "" : `page-${this.#pages.size}`;
    if (next !== "") this.#pages.set(next, { items: rest, version });
    const metadata = { resourceVersion: String(version), continue: next };
    return { apiVersion, kind: "List", metadata, items: items.slice(0, limit) };
  }

  #selected(kind: string, selection: Selection): Fields[] {
    return this.objects.list(kind).filter((object) => selects(selection, object));
  }

  #watch({ kind, namespace, query }: Asked, stream: ByteStream): ApiResponse {
    const selection = selectionOf(namespace, query);
    const given = query.get("resourceVersion");
    if (given === null && this.initialEvents === "refused") throw new Refusal(422, "no watch list");
    if (given === null && this.initialEvents === "failed") throw new Refusal(500, "no watch list");
    const since = given === null ? this.objects.version : Number(given);
    const missed = this.objects.since(since);
    if (missed === undefined) throw new Refusal(410, "too old");
    if (given === null) {
      for (const object of this.#selected(kind, selection)) stream.write(line("ADDED", object));
      if (this.initialEvents === "sent") stream.write(bookmark(since, true));
    }
    const watch: Watch = { stream, frozen: false, last: undefined };
    // Late, and in order.
    let due = this.#clock.now();
    const cancels = new Set<() => void>();
    const send = (text: string): void => {
      if (watch.frozen) return;
      const { delay } = this.weather;
      if (delay > 0) due = Math.max(due, this.#clock.now() + this.#random() * delay);
      const left = due - this.#clock.now();
      if (left > 0) cancels.add(this.#clock.after(left, () => stream.write(text)));
      else stream.write(text);
    };
    const hear = (change: Change): void => {
      // As kube-apiserver: a watch from the future is silent until the future comes.
      if (change.kind !== kind || change.version <= since) return;
      const event = eventOf(selection, change);
      if (event === undefined) return;
      watch.last = event;
      send(event);
    };
    for (const change of missed) hear(change);
    const unlisten = this.objects.listen(hear);
    const seconds = Number(query.get("timeoutSeconds"));
    const close = this.#clock.after(seconds * 1000, () => watch.frozen || stream.end());
    const mark = (): void => {
      // A server that stands still sends none.
      const isRunning = this.weather.delay < BOOKMARKS;
      if (isRunning && this.objects.version > since) send(bookmark(this.objects.version));
      cancel = this.#clock.after(BOOKMARKS, mark);
    };
    let cancel = this.#clock.after(BOOKMARKS, mark);
    this.#watches.add(watch);
    stream.onLeft(() => {
      this.#watches.delete(watch);
      for (const end of [unlisten, close, cancel, ...cancels]) end();
    });
    return { status: 200, header: () => undefined, body: stream };
  }
}

/** A JSON merge patch (RFC 7396). */
function merged(object: Fields, patch: Fields): Fields {
  const all: Record<string, unknown> = { ...object };
  for (const [name, value] of Object.entries(patch)) {
    const before = all[name];
    if (value === null) delete all[name];
    else all[name] = isFields(value) ? merged(isFields(before) ? before : {}, value) : value;
  }
  return all;
}

interface Asked {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
}

function parsePath(path: string): Asked {
  const { pathname, searchParams: query } = new URL(path, "http://server");
  const match =
    /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+)(?=\/))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(
      pathname,
    );
  if (match === null) throw new Error(`not a path: ${path}`);
  const [, group, version = "", namespace, kind = "", encoded, subresource] = match;
  const name = encoded && decodeURIComponent(encoded);
  const apiVersion = group === undefined ? version : `${group}/${version}`;
  return { apiVersion, kind, namespace, name, subresource, query };
}

function selectionOf(namespace: string | undefined, query: URLSearchParams): Selection {
  const text = (name: string) => query.get(name) ?? undefined;
  return {
    namespace,
    labelSelector: text("labelSelector"),
    fieldSelector: text("fieldSelector"),
  };
}

/** The event of a watch for a change: an object that no longer matches its selector is reported as deleted. */
function eventOf(selection: Selection, change: Change): string | undefined {
  const { object, before, type } = change;
  const was = before !== undefined && selects(selection, before);
  const is = type !== "DELETED" && selects(selection, object);
  if (was && !is) return line("DELETED", object);
  if (!is) return undefined;
  return line(was ? "MODIFIED" : "ADDED", object);
}

function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function bookmark(version: number, isEnd = false): string {
  const annotations = isEnd ? { "k8s.io/initial-events-end": "true" } : undefined;
  return line("BOOKMARK", { metadata: { resourceVersion: String(version), annotations } });
}

function answer(body: ByteStream, code: number, text: string, retryAfter?: string): ApiResponse {
  body.write(text);
  body.end();
  const header = (name: string) => (name === "retry-after" ? retryAfter : undefined);
  return { status: code, header, body };
}

interface Reason {
  readonly message?: string;
  readonly details?: object;
  readonly retryAfter?: string | undefined;
}

function status(body: ByteStream, code: number, why: Reason): ApiResponse {
  const { message = `status ${code}`, details, retryAfter } = why;
  // Of a write that takes longer than its `timeout`.
  const reason = code === 504 ? "Timeout" : undefined;
  const text = JSON.stringify({ kind: "Status", code, reason, message, details });
  return answer(body, code, text, retryAfter);
}
