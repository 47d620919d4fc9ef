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
import { at, type Fields, isFields } from "./fields.ts";
import { type Change, MemoryObjects, Refusal } from "./object-table.ts";
import { type Selection, selects } from "./selects.ts";

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

/**
 * An API server of all kinds, in memory: lists, watches that begin with everything, server-side apply, preconditions,
 * labels, status as a subresource. Its version grows with every write that changes something.
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
  /** Resources that it does not have. */
  readonly unserved = new Set<string>();
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #streams = new Set<ByteStream>();

  constructor(name: string, clock: Clock, random: () => number) {
    this.address = `memory:${name}`;
    this.objects = new MemoryObjects(name);
    this.#clock = clock;
    this.#random = random;
  }

  async request({ path, signal, silence, write }: ApiRequest): Promise<ApiResponse> {
    signal.throwIfAborted();
    await this.#way(signal);
    const stream = new ByteStream(this.#clock, silence, 100_000);
    signal.addEventListener("abort", () => stream.abandon(signal.reason), { once: true });
    const asked = parsePath(path);
    try {
      if (this.unserved.has(asked.kind)) throw new Refusal(404, "page not found");
      if (write !== undefined) {
        const body = JSON.stringify(this.#written(asked, write));
        await this.#way(signal);
        return answer(stream, 200, body);
      }
      if (asked.query.get("watch") === "true") return this.#watch(asked, stream);
      return answer(stream, 200, JSON.stringify(this.#read(asked)));
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      const { status: code, message, details } = thrown;
      return answer(stream, code, JSON.stringify({ kind: "Status", code, message, details }));
    }
  }

  async close(): Promise<void> {}

  /** All connections break. */
  cut(): void {
    for (const stream of this.#streams) stream.fail(new ApiFault("unreachable", "Reset"));
  }

  async #way(signal: AbortSignal): Promise<void> {
    await this.#pass(signal);
    if (this.down || this.#random() < this.weather.lost) {
      throw new ApiFault("unreachable", "Nobody answers");
    }
  }

  #pass(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(this.#random() * this.weather.delay, resolve);
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
    const selection = selectionOf(namespace, query);
    const items = this.objects.list(kind).filter((object) => selects(selection, object));
    const metadata = { resourceVersion: String(this.objects.version) };
    return { apiVersion, kind: "List", metadata, items };
  }

  #watch({ kind, namespace, query }: Asked, stream: ByteStream): ApiResponse {
    const selection = selectionOf(namespace, query);
    const given = query.get("resourceVersion");
    const since = given === null ? this.objects.version : Number(given);
    const missed = this.objects.since(since);
    if (missed === undefined) throw new Refusal(410, "too old");
    if (given === null) {
      for (const object of this.objects.list(kind)) {
        if (selects(selection, object)) stream.write(line("ADDED", object));
      }
      const annotations = { "k8s.io/initial-events-end": "true" };
      const metadata = { resourceVersion: String(since), annotations };
      stream.write(line("BOOKMARK", { metadata }));
    }
    // Late, and in order.
    let due = this.#clock.now();
    const cancels = new Set<() => void>();
    const hear = (change: Change): void => {
      const event = change.kind === kind ? eventOf(selection, change) : undefined;
      if (event === undefined) return;
      due = Math.max(due, this.#clock.now() + this.#random() * this.weather.delay);
      const cancel = this.#clock.after(due - this.#clock.now(), () => stream.write(event));
      cancels.add(cancel);
    };
    for (const change of missed) hear(change);
    const unlisten = this.objects.listen(hear);
    const seconds = Number(query.get("timeoutSeconds"));
    const close = this.#clock.after(seconds * 1000, () => stream.end());
    this.#streams.add(stream);
    stream.onLeft(() => {
      this.#streams.delete(stream);
      for (const end of [unlisten, close, ...cancels]) end();
    });
    return { status: 200, header: () => undefined, body: stream };
  }
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
  const [, group, version = "", namespace, kind = "", name, subresource] = match;
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

function answer(body: ByteStream, status: number, text: string): ApiResponse {
  body.write(text);
  body.end();
  return { status, header: () => undefined, body };
}
