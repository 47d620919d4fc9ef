import type { Cancel, Clock } from "../clock.ts";
import { deadline } from "../deadline.ts";
import { ApiFault } from "./api-fault.ts";
import type { Connection } from "./connection.ts";
import { LONGEST_OBJECT } from "./json.ts";
import { LineSplitter } from "./line-splitter.ts";
import { parseWatchEvent, type WatchEvent } from "./watch-event.ts";

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
