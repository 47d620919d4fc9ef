/** Bytes of a text, an array or an object besides its content, on V8 with compressed layouts left aside. */
const HEADER = 24;
const FIELD = 8;
/** Bytes of an entry of a Map or Set, without the key and the value. */
const ENTRY = 32;

/**
 * About how many bytes of memory a parsed value takes, as weight of an object that shares a limit. A value that several objects share counts for each of them.
 * PURE.
 */
export function memorySize(value: unknown): number {
  if (typeof value === "string") return HEADER + value.length;
  if (typeof value !== "object" || value === null) return 0;
  let size = HEADER;
  if (Array.isArray(value)) {
    for (const item of value) size += FIELD + memorySize(item);
  } else if (value instanceof Map) {
    for (const [key, item] of value) size += ENTRY + memorySize(key) + memorySize(item);
  } else {
    for (const item of Object.values(value)) size += FIELD + memorySize(item);
  }
  return size;
}
