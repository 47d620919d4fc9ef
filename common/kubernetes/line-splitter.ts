import { ApiFault } from "./api-fault.ts";

const LINE_FEED = 0x0a;

/**
 * Cuts a stream of bytes into lines at each line feed, wherever the borders of its chunks are: inside a
 * character of several bytes, too. U+2028 and U+2029, which may stand in JSON, end no line.
 */
export class LineSplitter {
  readonly #longest: number;
  #parts: Uint8Array[] = [];
  #length = 0;

  /** `longest`: bytes of a line at most. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /**
   * The lines that end in this chunk, without their line feeds, each valid until the next is taken. Throws
   * `garbage` at a line that is too long, whether it has ended or not.
   */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start);
      const part = chunk.subarray(start, end === -1 ? undefined : end);
      this.#length += part.length;
      if (this.#length > this.#longest) {
        throw new ApiFault("garbage", `A line of more than ${this.#longest} bytes`);
      }
      if (end === -1) {
        if (part.length > 0) this.#parts.push(part);
        return;
      }
      const line = this.#parts.length === 0 ? part : Buffer.concat([...this.#parts, part]);
      this.#parts = [];
      this.#length = 0;
      start = end + 1;
      yield line;
    }
  }
}
