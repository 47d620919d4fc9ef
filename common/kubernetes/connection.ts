import type { Clock } from "../clock.ts";
import { ask } from "./answers.ts";
import type { ApiServer } from "./api-server.ts";
import { Turn } from "./turn.ts";

/** What a connection is made of. */
export interface ConnectionOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** Ends whatever is being read; nothing is given after it. */
  readonly signal: AbortSignal;
}

/** What is read. */
export interface Reading {
  readonly path: string;
  /** As in ApiRequest. */
  readonly silence: number;
  readonly compress?: boolean;
  /** The answer is a success, and its body begins. */
  readonly opened?: () => void;
  /** Ends this reading alone. */
  readonly cancel?: AbortSignal;
}

/** Some bytes, and when they came. */
export interface Chunk {
  readonly bytes: Uint8Array;
  /** Milliseconds of the clock. */
  readonly at: number;
}

/** Bodies of an API server, read one at a time, with a thought for the event loop. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #turn: Turn;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#turn = new Turn(options.clock);
  }

  /** The body, chunk by chunk. Who leaves early ends the request. Throws an ApiFault unless all was well. */
  async *read(reading: Reading): AsyncGenerator<Chunk> {
    const { api, clock, signal } = this.#options;
    const request = new AbortController();
    const end = (): void => request.abort();
    for (const source of [signal, reading.cancel]) {
      if (source?.aborted) end();
      source?.addEventListener("abort", end);
    }
    try {
      const { path, silence, compress = false } = reading;
      const body = await ask(api, { path, silence, compress, signal: request.signal });
      request.signal.throwIfAborted();
      reading.opened?.();
      for await (const bytes of body) {
        request.signal.throwIfAborted();
        yield { bytes, at: clock.now() };
      }
      request.signal.throwIfAborted();
    } finally {
      for (const source of [signal, reading.cancel]) source?.removeEventListener("abort", end);
      end();
    }
  }

  /** To be called between two objects: lets others work if it is time to. Throws once it is stopped. */
  async breathe(): Promise<void> {
    if (this.#turn.over) await this.#turn.pass();
    this.#options.signal.throwIfAborted();
  }
}
