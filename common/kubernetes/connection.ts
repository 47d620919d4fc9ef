import type { Clock } from "../clock.ts";
import { TimeSlice } from "../event-loop.ts";
import type { ApiServer } from "./api-server.ts";
import { requestBody } from "./request-body.ts";

/** Options of a `Connection`. */
export interface ConnectionOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** Ends all reading. */
  readonly signal: AbortSignal;
}

/** One request, read as a stream. */
export interface ReadRequest {
  readonly path: string;
  /** As in ApiRequest. */
  readonly silence: number;
  readonly compress?: boolean;
  /** Called when a successful response begins. */
  readonly opened?: () => void;
  /** Ends this request only. */
  readonly cancel?: AbortSignal;
}

/** Reads response bodies of an API server, one at a time, and yields to the event loop meanwhile. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #slice: TimeSlice;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#slice = new TimeSlice(options.clock);
  }

  /** The body in chunks with times of arrival. Leaving the loop early ends the request. Throws an ApiFault. */
  async *read(request: ReadRequest): AsyncGenerator<{ bytes: Uint8Array; at: number }> {
    const { api, clock, signal } = this.#options;
    const { path, silence, compress = false, opened, cancel } = request;
    const left = new AbortController();
    const ended = AbortSignal.any([signal, left.signal, ...(cancel === undefined ? [] : [cancel])]);
    try {
      const body = await requestBody(api, { path, silence, compress, signal: ended });
      ended.throwIfAborted();
      opened?.();
      for await (const bytes of body) {
        ended.throwIfAborted();
        yield { bytes, at: clock.now() };
      }
      ended.throwIfAborted();
    } finally {
      left.abort();
    }
  }

  /** Call between two objects: yields to the event loop when due. Throws once stopped. */
  async yieldIfDue(): Promise<void> {
    if (this.#slice.expired) await this.#slice.yield();
    this.#options.signal.throwIfAborted();
  }
}
