import type { Clock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer } from "../../common/kubernetes/api-server.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import { ByteStream } from "./byte-stream.ts";
import { ObjectStore, type StoredEvent, type StoredObject } from "./object-store.ts";

/** What becomes of one request. */
export type RequestFault =
  | { readonly kind: "status"; readonly status: number; readonly retryAfter?: string }
  /** The connection is refused, or reset before an answer. */
  | { readonly kind: "refused" }
  /** Accepted, and then nothing. */
  | { readonly kind: "silent" }
  /** Success, with a body of this text. */
  | { readonly kind: "body"; readonly text: string }
  /** Success, and the body ends after so many bytes: closed as if it were whole, or reset. */
  | { readonly kind: "half"; readonly bytes: number; readonly clean: boolean };

/** How running watches end, or what they say. */
export type WatchFault =
  | "close"
  | "reset"
  | "freeze"
  | "garbage"
  | "expired"
  | "half-line"
  | "repeat";

/** How the server treats a watch that is to begin with all objects. */
export type InitialEvents = "sent" | "refused" | "failed" | "ignored";

interface Watch {
  readonly stream: ByteStream;
  readonly since: number;
  frozen: boolean;
  last: StoredEvent | undefined;
}

/** Milliseconds between bookmarks. */
const BOOKMARKS = 60_000;

/** An API server of one kind, in memory: lists in pages and watches like kube-apiserver, with configurable faults. */
export class ModelApiServer implements ApiServer {
  readonly address = "memory:";
  readonly recovery = new Recovery();
  readonly store = new ObjectStore();
  /** What becomes of the next requests; then they succeed. */
  readonly faults: RequestFault[] = [];
  /** Paths of all requests. */
  readonly asked: string[] = [];
  /** Served versions of the kind. */
  served: readonly string[] = ["v1"];
  initialEvents: InitialEvents = "sent";
  /** Objects in a page at most, with any requested limit. */
  page = 3;
  /** Bytes in a chunk at most. */
  cut = 50;
  readonly #clock: Clock;
  readonly #watches = new Set<Watch>();
  readonly #snapshots = new Map<string, { items: StoredObject[]; version: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async request({ path, signal, silence }: ApiRequest): Promise<ApiResponse> {
    signal.throwIfAborted();
    this.asked.push(path);
    const fault = this.faults.shift();
    if (fault?.kind === "refused") throw new ApiFault("unreachable", "Refused");
    const stream = new ByteStream(this.#clock, silence, this.cut);
    signal.addEventListener("abort", () => stream.abandon(signal.reason), { once: true });
    if (fault?.kind === "silent") await this.#silence(signal);
    if (fault?.kind === "status") return status(stream, fault.status, fault.retryAfter);
    if (fault?.kind === "body") {
      stream.write(fault.text);
      stream.end();
      return success(stream);
    }
    if (fault?.kind !== "half") return this.#answer(path, stream);
    const half = new ByteStream(this.#clock, silence, this.cut);
    signal.addEventListener("abort", () => half.abandon(signal.reason), { once: true });
    const response = this.#answer(path, stream);
    void forward(stream, half, fault);
    return { ...response, body: half };
  }

  async close(): Promise<void> {}

  /** Watches that are open. */
  get watches(): number {
    return this.#watches.size;
  }

  /** A restart, a compaction, something broken on the way: to all that watch now. */
  disturb(fault: WatchFault): void {
    for (const watch of this.#watches) {
      const { stream, last } = watch;
      if (fault === "close") stream.end();
      if (fault === "reset") stream.fail(new ApiFault("unreachable", "Reset"));
      if (fault === "freeze") watch.frozen = true;
      if (fault === "garbage") stream.write("{nonsense}\n");
      if (fault === "half-line") {
        stream.write('{"type":"DELE');
        stream.end();
      }
      if (fault === "repeat" && last !== undefined) stream.write(lineOf(last));
      if (fault === "expired") {
        stream.write(line("ERROR", { kind: "Status", code: 410, message: "too old" }));
        stream.end();
      }
    }
  }

  #answer(path: string, stream: ByteStream): ApiResponse {
    const { pathname, searchParams } = new URL(path, "http://server");
    const version = /^\/apis\/example\.io\/([^/]+)\/things$/.exec(pathname)?.[1] ?? "";
    if (!this.served.includes(version)) return status(stream, 404);
    if (searchParams.get("watch") === "true") return this.#watch(searchParams, stream);
    return this.#list(searchParams, `example.io/${version}`, stream);
  }

  #list(parameters: URLSearchParams, apiVersion: string, stream: ByteStream): ApiResponse {
    const token = parameters.get("continue");
    const now = { items: [...this.store.objects.values()], version: this.store.version };
    const { items, version } = token === null ? now : (this.#snapshots.get(token) ?? {});
    if (items === undefined || version === undefined) return status(stream, 410);
    if (this.store.since(version) === undefined) return status(stream, 410);
    const limit = Math.min(Number(parameters.get("limit")), this.page);
    const rest = items.slice(limit);
    const next = rest.length === 0 ? "" : `page-${this.#snapshots.size}`;
    if (next !== "") this.#snapshots.set(next, { items: rest, version });
    const metadata = { resourceVersion: String(version), continue: next };
    stream.write(
      JSON.stringify({ kind: "ThingList", apiVersion, metadata, items: items.slice(0, limit) }),
    );
    stream.end();
    return success(stream);
  }

  #watch(parameters: URLSearchParams, stream: ByteStream): ApiResponse {
    const given = parameters.get("resourceVersion");
    if (given === null && this.initialEvents === "refused") return status(stream, 422);
    if (given === null && this.initialEvents === "failed") return status(stream, 500);
    const since = given === null ? this.store.version : Number(given);
    const missed = this.store.since(since);
    if (missed === undefined) return status(stream, 410);
    const watch: Watch = { stream, since, frozen: false, last: undefined };
    if (given === null) {
      for (const object of this.store.objects.values()) stream.write(line("ADDED", object));
      if (this.initialEvents === "sent") stream.write(bookmark(this.store.version, true));
    }
    const hear = (event: StoredEvent): void => {
      // As kube-apiserver: a watch from the future is silent until the future comes.
      if (watch.frozen || event.version <= since) return;
      watch.last = event;
      stream.write(lineOf(event));
    };
    for (const event of missed) hear(event);
    const unlisten = this.store.listen(hear);
    const seconds = Number(parameters.get("timeoutSeconds"));
    const close = this.#clock.after(seconds * 1000, () => watch.frozen || stream.end());
    const mark = (): void => {
      if (!watch.frozen && this.store.version > since) stream.write(bookmark(this.store.version));
      cancel = this.#clock.after(BOOKMARKS, mark);
    };
    let cancel = this.#clock.after(BOOKMARKS, mark);
    this.#watches.add(watch);
    stream.onLeft(() => {
      this.#watches.delete(watch);
      for (const end of [unlisten, close, cancel]) end();
    });
    return success(stream);
  }

  async #silence(signal: AbortSignal): Promise<never> {
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = this.#clock.after(30_000, () => reject(new ApiFault("stalled", "No answer")));
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    return promise.finally(cancel);
  }
}

async function forward(
  from: ByteStream,
  to: ByteStream,
  { bytes, clean }: { readonly bytes: number; readonly clean: boolean },
): Promise<void> {
  let left = bytes;
  try {
    for await (const chunk of from) {
      to.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) break;
    }
    if (clean) to.end();
    else to.fail(new ApiFault("unreachable", "Reset"));
  } catch (error) {
    to.fail(error);
  }
}

function success(body: ByteStream): ApiResponse {
  return { status: 200, header: () => undefined, body };
}

function status(body: ByteStream, code: number, retryAfter?: string): ApiResponse {
  body.write(JSON.stringify({ kind: "Status", code, message: `status ${code}` }));
  body.end();
  return {
    status: code,
    header: (name) => (name === "retry-after" ? retryAfter : undefined),
    body,
  };
}

function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function lineOf({ type, object }: StoredEvent): string {
  return line(type, object);
}

function bookmark(version: number, end = false): string {
  const annotations = end ? { "k8s.io/initial-events-end": "true" } : undefined;
  return line("BOOKMARK", { metadata: { resourceVersion: String(version), annotations } });
}
