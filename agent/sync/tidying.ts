import type { Cancel, Clock } from "../../common/clock.ts";

/** Milliseconds from one look for connections that have ended to the next. Nothing waits for it, and nobody is harmed. */
const EVERY = 60_000;

/** Says when to look whether what the kernel keeps only for its connections has any left. */
export class Tidying {
  readonly #clock: Pick<Clock, "after">;
  readonly #wake: () => void;
  #cancel: Cancel | undefined;
  #due = false;

  /** `wake` is called whenever it has become due. */
  constructor(clock: Pick<Clock, "after">, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  get due(): boolean {
    return this.#due;
  }

  /** The kernel has been looked at, or everything was compared: the next look is a minute from now. */
  done(): void {
    this.#due = false;
    this.#cancel?.();
    this.#cancel = this.#clock.after(EVERY, () => {
      this.now();
    });
  }

  /** Makes it due. */
  now(): void {
    this.#due = true;
    this.#wake();
  }

  stop(): void {
    this.#cancel?.();
  }
}
