import { PartialBytes } from "./partial-bytes.ts";

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
