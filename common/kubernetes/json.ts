import { isUtf8 } from "node:buffer";
import { counted } from "../../api/count.ts";
import { ApiFault } from "./api-fault.ts";

/** Maximum bytes of an object as JSON: several times what etcd accepts (1.5 MiB, in a denser encoding). */
export const LONGEST_OBJECT = 8 * 1024 * 1024;
/** Maximum nesting depth of an object, as of a manifest. Functions that call themselves overflow the stack at thousands. */
const DEEPEST = 100;
/** Bytes of invalid JSON that a message shows. */
const SHOWN = 60;

/** Parses JSON in UTF-8. Throws `garbage` if it is invalid, or nested too deep. PURE. */
export function parseJson(bytes: Uint8Array): unknown {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!isUtf8(buffer)) throw garbage("not UTF-8", buffer);
  if (isTooDeep(buffer)) throw garbage(`nested deeper than ${DEEPEST} levels`, buffer);
  try {
    return JSON.parse(buffer.toString("utf8"));
  } catch {
    throw garbage("not JSON", buffer);
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The bit in which `{` differs from `[`, and `}` from `]`. */
const CURLY = 0x20;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** True if brackets outside strings are nested deeper than `DEEPEST`. */
function isTooDeep(json: Buffer): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] ?? 0;
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if ((byte & ~CURLY) === OPEN) {
      depth++;
      if (depth > DEEPEST) return true;
    } else if ((byte & ~CURLY) === CLOSE) depth--;
  }
  return false;
}

function garbage(what: string, bytes: Buffer): ApiFault {
  const shown = JSON.stringify(bytes.subarray(0, SHOWN).toString("latin1"));
  return new ApiFault(
    "garbage",
    `${what}: ${counted(bytes.length, "byte")}, beginning with ${shown}`,
  );
}
