import { isFields } from "../../api/parse/fields.ts";
import { parseJsonText } from "../../api/parse/json-text.ts";
import type { JsonFields } from "../model/manifest.ts";

/** A spec holds lists of objects, and an object in an object: far less than this. */
const MOST_DEPTH = 20;

/** The spec that an author wrote (`ImportFact.authored`); undefined if that is lost. */
export function authoredSpec(authored: string | undefined): JsonFields | undefined {
  const value =
    authored === undefined ? undefined : parseJsonText(authored, authored.length, MOST_DEPTH);
  return isJsonFields(value) ? value : undefined;
}

/** The VIPs that an author wrote, whether they are addresses or not. */
export function authoredIps(authored: string | undefined): string[] {
  const ips = authoredSpec(authored)?.ips;
  return Array.isArray(ips) ? ips.filter((ip) => typeof ip === "string") : [];
}

/** What JSON.parse makes of an object is JSON all the way down. */
function isJsonFields(value: unknown): value is JsonFields {
  return isFields(value);
}
