import { field } from "../../api/parse/fields.ts";
import { ApiFault } from "./api-fault.ts";
import { parseJson } from "./json.ts";
import { PartialBytes } from "./partial-bytes.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** Nesting depth between the elements of `items`. */
const BETWEEN = 2;
const ITEMS = "items";
const NOTHING = new Uint8Array();

/**
 * Splits the elements of `items` off a JSON document while it arrives, so that a list needs the memory of one element. It
 * tracks only brackets, commas and strings; the JSON parser validates each part.
 */
export class ItemSplitter {
  /** Bytes of the document outside the elements. */
  readonly #frame: PartialBytes;
  /** Bytes of the element that has begun. */
  readonly #item: PartialBytes;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inItems = false;
  /** The last string on the top level: the key, if a bracket follows. */
  #key = "";

  /** `longest`: maximum bytes of an element, and of the document without elements. */
  constructor(longest: number) {
    this.#frame = new PartialBytes(longest, "A list without its elements");
    this.#item = new PartialBytes(longest, "A list element");
  }

  /** The elements that end in this chunk, as JSON text. Throws `garbage` if one is too long. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    /** Start of the part that is not stored yet. */
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
          this.#frame.add(chunk.subarray(from, at + 1));
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
        // The remaining document would be valid without it.
        if (item === undefined) throw new ApiFault("garbage", "The list has an empty element");
        from = at + 1;
        yield item;
      }
    }
    this.#depth = depth;
    const rest = chunk.subarray(from);
    if (this.#inItems) this.#item.add(rest);
    else this.#frame.add(rest);
  }

  /** The document without its elements. Throws `garbage` if it is incomplete. */
  end(): unknown {
    if (this.#depth !== 0 || this.#inString)
      throw new ApiFault("garbage", "The list is incomplete");
    const frame = parseJson(this.#frame.take(NOTHING));
    const items = field(frame, ITEMS);
    // Go encodes a nil slice as null. Elements that are left here had an escaped key.
    const empty = items === null || (Array.isArray(items) && items.length === 0);
    if (!empty) throw new ApiFault("garbage", "The response is not a list");
    return frame;
  }

  /** Skips to the end of the string or chunk; returns the position of the last byte. */
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

  /** The element that ends with these bytes; undefined if it is empty. */
  #takeItem(end: Uint8Array): Uint8Array | undefined {
    const item = this.#item.take(end);
    return item.every(isSpace) ? undefined : item;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
