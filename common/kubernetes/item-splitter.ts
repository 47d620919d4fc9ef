import { ApiFault } from "./api-fault.ts";
import { field, parseJson } from "./json.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** How deep brackets are nested between the elements of `items`. */
const BETWEEN = 2;
const ITEMS = "items";

/**
 * Takes the elements of the array `items` out of a JSON document while it arrives, so that a list of any size
 * costs the memory and the time of one element at a time. What is left, the document with an empty `items`,
 * is parsed at the end. It looks at brackets, commas and strings; whether the parts are JSON, their parser says.
 */
export class ItemSplitter {
  readonly #longest: number;
  /** Bytes of the document outside the elements. */
  readonly #frame: Uint8Array[] = [];
  #frameLength = 0;
  /** Bytes of the element that has begun. */
  #item: Uint8Array[] = [];
  #itemLength = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inItems = false;
  /** The beginning of the last string of the document's own level: a key, where a bracket comes next. */
  #key = "";

  /** `longest`: bytes at most of an element, and of all that is around them. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** The elements that end in this chunk, each as its JSON text. Throws `garbage` where one is too long. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    /** Where the part begins that is not yet kept. */
    let from = 0;
    let depth = this.#depth;
    for (let at = 0; at < chunk.length; at++) {
      if (this.#inString) {
        at = this.#skipString(chunk, at, depth === 1);
        continue;
      }
      const byte = chunk[at];
      if (byte === QUOTE) {
        this.#inString = true;
        if (depth === 1) this.#key = "";
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth++;
        if (byte === OPEN_BRACKET && depth === BETWEEN && this.#key === ITEMS) {
          this.#keepFrame(chunk.subarray(from, at + 1));
          this.#inItems = true;
          from = at + 1;
        }
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        depth--;
        if (this.#inItems && depth < BETWEEN) {
          const last = this.#takeItem(chunk.subarray(from, at));
          this.#inItems = false;
          from = at;
          if (last !== undefined) yield last;
        }
      } else if (byte === COMMA && this.#inItems && depth === BETWEEN) {
        const item = this.#takeItem(chunk.subarray(from, at));
        // What is around the elements would not show it.
        if (item === undefined) throw new ApiFault("garbage", "A list with an empty element");
        from = at + 1;
        yield item;
      }
    }
    this.#depth = depth;
    const rest = chunk.subarray(from);
    if (this.#inItems) this.#keepItem(rest);
    else this.#keepFrame(rest);
  }

  /** The document without the elements, when all of it has arrived. Throws `garbage` if it has not. */
  end(): unknown {
    if (this.#depth !== 0 || this.#inString) throw new ApiFault("garbage", "Half a list");
    const frame = parseJson(Buffer.concat(this.#frame));
    const items = field(frame, ITEMS);
    // Go writes null for a list that was never filled. One that is full was spelled in a way that is not seen here.
    const empty = items === null || (Array.isArray(items) && items.length === 0);
    if (!empty) throw new ApiFault("garbage", "No list");
    return frame;
  }

  /** Goes on to the end of the string, or of the chunk; gives the position of its last byte. */
  #skipString(chunk: Uint8Array, start: number, isKey: boolean): number {
    for (let at = start; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) {
        this.#inString = false;
        return at;
      }
      if (isKey && byte !== undefined && this.#key.length <= ITEMS.length) {
        this.#key += String.fromCharCode(byte);
      }
    }
    return chunk.length;
  }

  /** The element that ends with these bytes; undefined if there is none. */
  #takeItem(end: Uint8Array): Uint8Array | undefined {
    this.#keepItem(end);
    const [first, ...more] = this.#item;
    this.#item = [];
    this.#itemLength = 0;
    if (first === undefined) return undefined;
    const item = more.length === 0 ? first : Buffer.concat([first, ...more]);
    return item.every(isSpace) ? undefined : item;
  }

  #keepItem(part: Uint8Array): void {
    this.#itemLength += part.length;
    if (this.#itemLength > this.#longest) throw this.#tooLong();
    if (part.length > 0) this.#item.push(part);
  }

  #keepFrame(part: Uint8Array): void {
    this.#frameLength += part.length;
    if (this.#frameLength > this.#longest) throw this.#tooLong();
    if (part.length > 0) this.#frame.push(part);
  }

  #tooLong(): ApiFault {
    return new ApiFault("garbage", `A part of a list of more than ${this.#longest} bytes`);
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
