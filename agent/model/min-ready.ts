import { ANNOTATION_MIN_READY } from "../../api/keys.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";

/** How many endpoints of a tier have to be ready: a number, or a part of those that its slices list. */
export type MinReady = { readonly endpoints: number } | { readonly percent: number };

/** Maximum number: more than any tier has. */
const MOST_ENDPOINTS = 100_000;

/** Parses the annotation, such as `3` or `30%`; undefined if there is none, or if it is invalid. */
export function parseMinReady(object: unknown, complaints: Complaints): MinReady | undefined {
  const text = fieldAt(object, "metadata", "annotations", ANNOTATION_MIN_READY);
  if (isUnset(text)) return undefined;
  const [, digits, isPercent] = (typeof text === "string" && /^(\d{1,6})(%?)$/.exec(text)) || [];
  const value = Number(digits);
  if (value >= 1 && isPercent === "%" && value <= 100) return { percent: value };
  if (value >= 1 && isPercent === "" && value <= MOST_ENDPOINTS) return { endpoints: value };
  return complaints.add("invalid-policy", `metadata.annotations[${ANNOTATION_MIN_READY}]`, text);
}

/** The number of ready endpoints that a tier with `listed` endpoints needs: at least one. */
export function neededOf(minReady: MinReady, listed: number): number {
  if ("endpoints" in minReady) return minReady.endpoints;
  return Math.max(1, Math.ceil((minReady.percent * listed) / 100));
}
