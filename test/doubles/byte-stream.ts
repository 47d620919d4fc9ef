import type { Cancel, Clock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";

/** A body that is written while it is read; silent for too long, it fails as an ApiServer's body does. */
export class ByteStream implements AsyncIterable<Uint8Array> {
  readonly #clock: Clock;
  readonly #silence: number;
  readonly #cut: number;
  #chunks: Uint8Array[] = [];
  #over: { readonly error?: unknown } | undefined;
  #wake = (): void => {};
  #left = (): void => {};

  /** `cut`: bytes of a chunk at most, so that lines and characters are torn apart. */
  constructor(clock: Clock, silence: number, cut: number) {
    this.#clock = clock;
    this.#silence = silence;
    this.#cut = cut;
  }

  write(text: string | Uint8Array): void {
    if (this.#over !== undefined) return;
    const bytes = Buffer.from(text);
    for (let from = 0; from < bytes.length; from += this.#cut) {
      this.#chunks.push(bytes.subarray(from, from + this.#cut));
    }
    this.#wake();
  }

  end(): void {
    this.#over ??= {};
    this.#wake();
  }

  fail(error: unknown): void {
    this.#over ??= { error };
    this.#wake();
  }

  /** The reader has cancelled. */
  abandon(reason: unknown): void {
    this.fail(reason);
    this.#left();
  }

  /** Called when the reader cancels; possibly twice. */
  onLeft(left: () => void): void {
    this.#left = left;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        for (let next = this.#chunks.shift(); next; next = this.#chunks.shift()) yield next;
        if (this.#over !== undefined) {
          if ("error" in this.#over) throw this.#over.error;
          return;
        }
        await this.#more();
      }
    } finally {
      this.#over ??= {};
      this.#left();
    }
  }

  #more(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel: Cancel = this.#clock.after(this.#silence, () =>
      this.fail(new ApiFault("stalled", "Nothing came")),
    );
    this.#wake = resolve;
    return promise.finally(cancel);
  }
}
