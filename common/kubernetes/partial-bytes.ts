import { counted } from "../../api/count.ts";
import { ApiFault } from "./api-fault.ts";

/** Bytes of the first buffer, and of the largest that is kept for the next use. */
const USUAL = 64 * 1024;

/** Collects bytes that arrive in any number of parts, in one buffer: an array of them would cost 100 bytes for each. */
export class PartialBytes {
  readonly #longest: number;
  readonly #what: string;
  #buffer = Buffer.alloc(0);
  #length = 0;

  /** `longest`: maximum bytes. `what`: for the message if there are more. */
  constructor(longest: number, what: string) {
    this.#longest = longest;
    this.#what = what;
  }

  get length(): number {
    return this.#length;
  }

  /** Copies a part. Throws `garbage` at the limit. */
  add(part: Uint8Array): void {
    this.check(part.length);
    const length = this.#length + part.length;
    if (length > this.#buffer.length) {
      const size = Math.max(USUAL, length, Math.min(2 * this.#buffer.length, this.#longest));
      const larger = Buffer.allocUnsafeSlow(size);
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    this.#buffer.set(part, this.#length);
    this.#length = length;
  }

  /** Throws `garbage` if there is no room for so many bytes. */
  check(more: number): void {
    if (this.#length + more <= this.#longest) return;
    throw new ApiFault("garbage", `${this.#what} is longer than ${counted(this.#longest, "byte")}`);
  }

  /** The bytes so far with a last part; valid until the next `add`. Nothing is kept after it. */
  take(last: Uint8Array): Uint8Array {
    this.check(last.length);
    // Usually a chunk has all of it.
    if (this.#length === 0) return last;
    this.add(last);
    const all = this.#buffer.subarray(0, this.#length);
    this.#length = 0;
    if (this.#buffer.length > USUAL) this.#buffer = Buffer.alloc(0);
    return all;
  }
}
