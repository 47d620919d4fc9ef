import { field, textField } from "../../api/parse/fields.ts";
import { type Cancel, type Clock, deadline } from "../clock.ts";
import { ApiFault, reasonOfStatus } from "./api-fault.ts";
import type { Connection } from "./connection.ts";
import { LONGEST_OBJECT, parseJson } from "./json.ts";
import { metaOf, type ObjectMeta } from "./object-meta.ts";
import { PartialBytes } from "./partial-bytes.ts";

/** Maximum milliseconds without data in a watch: kube-apiserver sends a bookmark about once a minute. */
const WATCH_SILENCE_MS = 150_000;
/** Maximum milliseconds without data in initial events: a server that ignores `sendInitialEvents` sends no bookmark. */
const INITIAL_SILENCE_MS = 10_000;

/** Thrown if the server does not support `sendInitialEvents`. */
export class NoInitialEvents extends Error {}

/** Options of `watchStream`. */
export interface WatchStreamOptions {
  readonly path: string;
  readonly clock: Clock;
  /** The watch begins with all existing objects, followed by a bookmark. */
  readonly initial: boolean;
  /** Called when the response begins. */
  readonly opened: () => void;
  /** Ends this watch. */
  readonly cancel: AbortSignal;
}

/** The events of one watch with times of arrival, until the server closes it. Throws an ApiFault, or NoInitialEvents. */
export async function* watchStream(
  connection: Connection,
  options: WatchStreamOptions,
): AsyncGenerator<{ readonly event: WatchEvent; readonly at: number }> {
  let { initial } = options;
  const { path, clock } = options;
  const expired = new AbortController();
  let stopTimeout: Cancel = () => {};
  const restartTimeout = (): void => {
    stopTimeout();
    stopTimeout = deadline(clock, INITIAL_SILENCE_MS, () => expired.abort());
  };
  const opened = (): void => {
    if (initial) restartTimeout();
    options.opened();
  };
  const cancel = AbortSignal.any([expired.signal, options.cancel]);
  const reading = { path, silence: WATCH_SILENCE_MS, opened, cancel };
  const splitter = new LineSplitter(LONGEST_OBJECT);
  try {
    for await (const { bytes, at } of connection.read(reading)) {
      for (const line of splitter.push(bytes)) {
        const event = parseWatchEvent(line);
        if (initial && event.type === "BOOKMARK") {
          if (!event.initialEventsEnd) throw new NoInitialEvents();
          initial = false;
          stopTimeout();
        }
        yield { event, at };
        await connection.yieldIfDue();
      }
      if (initial) restartTimeout();
    }
  } catch (thrown) {
    throw initial && (expired.signal.aborted || isRefusal(thrown)) ? new NoInitialEvents() : thrown;
  } finally {
    stopTimeout();
  }
  if (initial)
    throw new ApiFault("unreachable", "The response ended before the initial events were complete");
}

/**
 * Servers reject unknown watch parameters as bad request, invalid or forbidden. With an etcd before 3.4.25 or 3.5.8
 * kube-apiserver fails `sendInitialEvents` with status 500 (RequestWatchProgress is disabled), after 200 in an event.
 */
const REFUSALS: ReadonlySet<string> = new Set(["refused", "forbidden", "server-error"]);

function isRefusal(thrown: unknown): boolean {
  return thrown instanceof ApiFault && REFUSALS.has(thrown.reason);
}

const LINE_FEED = 0x0a;

/** Splits a stream of bytes into lines at line feeds only; JSON strings may contain U+2028 and U+2029. */
export class LineSplitter {
  /** The line that has begun. */
  readonly #line: PartialBytes;

  /** `longest`: maximum bytes of a line. */
  constructor(longest: number) {
    this.#line = new PartialBytes(longest, "A line");
  }

  /** The lines that end in this chunk, each valid until the next is read. Throws `garbage` for a line that is too long. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start);
      if (end === -1) {
        this.#line.add(chunk.subarray(start));
        return;
      }
      yield this.#line.take(chunk.subarray(start, end));
      start = end + 1;
    }
  }
}

/** One line of a watch. */
type WatchEvent =
  | {
      readonly type: "ADDED" | "MODIFIED" | "DELETED";
      readonly meta: ObjectMeta;
      readonly object: unknown;
    }
  | {
      readonly type: "BOOKMARK";
      readonly resourceVersion: string;
      /** True if all objects that existed at that version have been sent. */
      readonly initialEventsEnd: boolean;
    };

/** Marks the bookmark after the last object that existed when the watch began (KEP-3157). */
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/** Parses a line of a watch. Throws `garbage` if it is invalid, and the fault of an ERROR event. PURE. */
export function parseWatchEvent(line: Uint8Array): WatchEvent {
  const event = parseJson(line);
  const type = textField(event, "type");
  const object = field(event, "object");
  if (type === "ERROR") throw errorOf(object);
  if (type === "BOOKMARK") {
    const metadata = field(object, "metadata");
    const resourceVersion = textField(metadata, "resourceVersion") ?? "";
    if (resourceVersion === "") throw new ApiFault("garbage", "A bookmark has no resourceVersion");
    const end = textField(field(metadata, "annotations"), INITIAL_EVENTS_END);
    return { type, resourceVersion, initialEventsEnd: end === "true" };
  }
  if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") {
    throw new ApiFault("garbage", "Unknown type of a watch event");
  }
  const meta = metaOf(object);
  if (meta === undefined) throw new ApiFault("garbage", "A watch event has no valid object");
  return { type, meta, object };
}

/** The fault of an ERROR event: its object is a Status. */
function errorOf(status: unknown): ApiFault {
  const code = field(status, "code");
  const message = textField(status, "message") ?? "The watch ended with an error";
  // Without an error code, the fault counts as one of the server.
  const known = typeof code === "number" && code >= 400 && code < 600;
  return new ApiFault(known ? reasonOfStatus(code) : "server-error", message);
}
