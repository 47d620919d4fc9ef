import { isUtf8 } from "node:buffer";
import { ApiFault } from "./api-fault.ts";

/** Bytes of a fragment that a message shows. */
const SHOWN = 60;

/** The JSON value of these bytes. Throws `garbage` unless they are one, in UTF-8. PURE. */
export function parseJson(bytes: Uint8Array): unknown {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!isUtf8(buffer)) throw garbage("not UTF-8", buffer);
  try {
    return JSON.parse(buffer.toString("utf8"));
  } catch {
    throw garbage("not JSON", buffer);
  }
}

/** A field of a value that may be anything; undefined if there is none. PURE. */
export function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name)
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined;
}

/** A field if it is text; undefined if not. PURE. */
export function textField(value: unknown, name: string): string | undefined {
  const found = field(value, name);
  return typeof found === "string" ? found : undefined;
}

function garbage(what: string, bytes: Buffer): ApiFault {
  const shown = JSON.stringify(bytes.subarray(0, SHOWN).toString("latin1"));
  return new ApiFault("garbage", `${what}: ${bytes.length} bytes that begin with ${shown}`);
}
