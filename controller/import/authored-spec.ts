import { isFields } from "../../api/parse/fields.ts";
import { parseJsonText } from "../../api/parse/json-text.ts";
import type { JsonFields } from "../model/manifest.ts";

/** Bounds the depth of the parsed JSON. */
const MOST_DEPTH = 20;

/** The spec that a user wrote (`ImportFact.authored`); undefined if it is lost. */
export function authoredSpec(authored: string | undefined): JsonFields | undefined {
  const value =
    authored === undefined ? undefined : parseJsonText(authored, authored.length, MOST_DEPTH);
  return isJsonFields(value) ? value : undefined;
}

/** The VIPs that a user wrote, valid or not. */
export function authoredIps(authored: string | undefined): string[] {
  const ips = authoredSpec(authored)?.ips;
  return Array.isArray(ips) ? ips.filter((ip) => typeof ip === "string") : [];
}

function isJsonFields(value: unknown): value is JsonFields {
  return isFields(value);
}
