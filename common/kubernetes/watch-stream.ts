import type { Cancel, Clock } from "../clock.ts";
import { deadline } from "../deadline.ts";
import { ApiFault } from "./api-fault.ts";
import type { Connection } from "./connection.ts";
import { LineSplitter } from "./line-splitter.ts";
import { LONGEST_OBJECT } from "./longest-object.ts";
import { parseWatchEvent, type WatchEvent } from "./watch-event.ts";

/**
 * Milliseconds of silence in a watch. A bookmark comes about every minute (kube-apiserver's watch cache), so two
 * were missed. A quiet kind on an etcd that reports no progress gets none: that costs a look and a new watch.
 */
const WATCH_SILENCE_MS = 150_000;
/**
 * Milliseconds of silence within which the objects at the start of a watch go on, or are said to be complete. A
 * server that does not know `sendInitialEvents` may send them as well, but never says that it is through.
 */
const INITIAL_SILENCE_MS = 10_000;

/** Thrown where a watch was to begin with all objects, and the server does not do that. */
export class NoInitialEvents extends Error {}

/** What is watched. */
export interface WatchOptions {
  readonly path: string;
  readonly clock: Clock;
  /** The watch is to begin with everything that exists, up to a bookmark that ends it. */
  readonly initial: boolean;
  /** The server has begun. */
  readonly opened: () => void;
  /** Ends this watch. */
  readonly cancel: AbortSignal;
}

/** A line of a watch, and when it came, in milliseconds of the clock. */
export interface Heard {
  readonly event: WatchEvent;
  readonly at: number;
}

/**
 * The events of one watch, until the server closes it, as it may at any time; but not before the objects at its
 * start are through. Throws an ApiFault, or NoInitialEvents.
 */
export async function* watchStream(
  connection: Connection,
  options: WatchOptions,
): AsyncGenerator<Heard> {
  let { initial } = options;
  const patience = new Patience(options.clock);
  const opened = (): void => {
    if (initial) patience.renew();
    options.opened();
  };
  const { path } = options;
  const cancel = AbortSignal.any([patience.lost, options.cancel]);
  const reading = { path, silence: WATCH_SILENCE_MS, opened, cancel };
  const splitter = new LineSplitter(LONGEST_OBJECT);
  try {
    for await (const { bytes, at } of connection.read(reading)) {
      for (const line of splitter.push(bytes)) {
        const event = parseWatchEvent(line);
        if (initial && event.type === "BOOKMARK") {
          if (!event.initialEventsEnd) throw new NoInitialEvents();
          initial = false;
          patience.end();
        }
        yield { event, at };
        await connection.breathe();
      }
      if (initial) patience.renew();
    }
  } catch (thrown) {
    throw initial && (patience.lost.aborted || isRefusal(thrown)) ? new NoInitialEvents() : thrown;
  } finally {
    patience.end();
  }
  if (initial) throw new ApiFault("unreachable", "The answer broke off.");
}

/** Servers refuse unknown parameters of a watch as bad requests, as invalid, or as forbidden. */
function isRefusal(thrown: unknown): boolean {
  return thrown instanceof ApiFault && ["refused", "forbidden"].includes(thrown.reason);
}

/** Runs out unless it is renewed in time. */
class Patience {
  readonly #clock: Clock;
  readonly #lost = new AbortController();
  #cancel: Cancel | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Aborted once it has run out. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  renew(): void {
    this.end();
    this.#cancel = deadline(this.#clock, INITIAL_SILENCE_MS, () => this.#lost.abort());
  }

  end(): void {
    this.#cancel?.();
  }
}
