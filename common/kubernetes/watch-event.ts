import { field, textField } from "../../api/parse/fields.ts";
import { ApiFault, reasonOfStatus } from "./api-fault.ts";
import { parseJson } from "./json.ts";
import { metaOf, type ObjectMeta } from "./object-meta.ts";

/** One line of a watch. */
export type WatchEvent =
  | {
      readonly type: "ADDED" | "MODIFIED" | "DELETED";
      readonly meta: ObjectMeta;
      readonly object: unknown;
    }
  | {
      readonly type: "BOOKMARK";
      readonly resourceVersion: string;
      /** True if all objects that existed at that version have been sent. */
      readonly initialEventsEnd: boolean;
    };

/** Marks the bookmark after the last object that existed when the watch began (KEP-3157). */
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/** Parses a line of a watch. Throws `garbage` if it is invalid, and the fault of an ERROR event. PURE. */
export function parseWatchEvent(line: Uint8Array): WatchEvent {
  const event = parseJson(line);
  const type = textField(event, "type");
  const object = field(event, "object");
  if (type === "ERROR") throw errorOf(object);
  if (type === "BOOKMARK") {
    const metadata = field(object, "metadata");
    const resourceVersion = textField(metadata, "resourceVersion") ?? "";
    if (resourceVersion === "") throw new ApiFault("garbage", "A bookmark has no resourceVersion");
    const end = textField(field(metadata, "annotations"), INITIAL_EVENTS_END);
    return { type, resourceVersion, initialEventsEnd: end === "true" };
  }
  if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") {
    throw new ApiFault("garbage", "Unknown type of a watch event");
  }
  const meta = metaOf(object);
  if (meta === undefined) throw new ApiFault("garbage", "A watch event has no valid object");
  return { type, meta, object };
}

/** The fault of an ERROR event: its object is a Status. */
function errorOf(status: unknown): ApiFault {
  const code = field(status, "code");
  const message = textField(status, "message") ?? "The watch ended with an error";
  // Without an error code, the fault counts as one of the server.
  const known = typeof code === "number" && code >= 400 && code < 600;
  return new ApiFault(known ? reasonOfStatus(code) : "server-error", message);
}
