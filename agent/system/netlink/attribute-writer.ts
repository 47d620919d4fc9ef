import { aligned, HEADER, NESTED } from "./attributes.ts";

/** Bytes at first, from Buffer's pool; doubled as needed. */
const FIRST_SIZE = 2_048;

/** Writes attributes one after the other into the same memory: a buffer for each would cost more than all else with a hundred thousand elements. */
export class AttributeWriter {
  #bytes = Buffer.allocUnsafe(FIRST_SIZE);
  #length = 0;

  /** Bytes written since the last `take`. */
  get length(): number {
    return this.#length;
  }

  /** Returns what was written, and begins anew. */
  take(): Buffer {
    const bytes = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return bytes;
  }

  /** Begins an attribute, and returns where; what is written until `end` is its value. */
  begin(type: number): number {
    const at = this.#grow(HEADER);
    this.#bytes.writeUInt16LE(type, at + 2);
    return at;
  }

  /** Begins an attribute that holds others. */
  beginNested(type: number): number {
    return this.begin(type | NESTED);
  }

  /** Ends the attribute that began there, and pads it. */
  end(at: number): void {
    this.#bytes.writeUInt16LE(this.#length - at, at);
    this.pad();
  }

  bytes(...values: readonly number[]): void {
    const at = this.#grow(values.length);
    for (const [i, value] of values.entries()) this.#bytes[at + i] = value;
  }

  uint16BE(value: number): void {
    const at = this.#grow(2);
    this.#bytes.writeUInt16BE(value, at);
  }

  uint32(value: number): void {
    const at = this.#grow(4);
    this.#bytes.writeUInt32LE(value >>> 0, at);
  }

  /** Two hexadecimal digits for each byte. */
  hex(digits: string): void {
    const at = this.#grow(digits.length / 2);
    this.#bytes.write(digits, at, "hex");
  }

  /** With the zero byte that ends a text of the kernel. */
  text(value: string): void {
    const at = this.#grow(value.length + 1);
    this.#bytes.write(value, at, "latin1");
    this.#bytes[at + value.length] = 0;
  }

  /** Zeros up to the next multiple of four bytes. */
  pad(): void {
    const missing = aligned(this.#length) - this.#length;
    const at = this.#grow(missing);
    this.#bytes.fill(0, at, at + missing);
  }

  /** Returns where so many bytes may be written. */
  #grow(size: number): number {
    const at = this.#length;
    this.#length += size;
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#length));
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    return at;
  }
}
