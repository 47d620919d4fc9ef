import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { MOST_ENDPOINT_RANGES } from "../../api/endpoint-ranges.ts";
import {
  ANNOTATION_ALLOWED_NAMESPACES,
  ANNOTATION_DENIED_NAMESPACES,
  ANNOTATION_ENDPOINT_CIDRS,
} from "../../api/keys.ts";
import { isLabelName } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";

/** Each exported name is compared with all patterns. */
const MOST_PATTERNS = 256;

/** Namespaces by patterns: a name, or its beginning and `*`. */
export interface NamespaceScope {
  /** Absent: all. */
  readonly allowed?: readonly string[];
  /** Takes precedence. */
  readonly denied: readonly string[];
}

/** What a peer may export, as an operator declares it on the peer's Secret, or on its registry's namespace on a hub. */
export interface PeerScope {
  /** Ranges of its endpoints; empty: all. */
  readonly endpointCidrs: readonly Cidr[];
  readonly namespaces: NamespaceScope;
}

/** No limits: the scope of the local cluster. */
export const UNLIMITED: PeerScope = { endpointCidrs: [], namespaces: { denied: [] } };

/** Parses the scope of a peer. Undefined if any part is missing or invalid: dropping it could admit too much. */
export function parsePeerScope(object: unknown, complaints: Complaints): PeerScope | undefined {
  const endpointCidrs = parseEndpointCidrs(object, complaints);
  const allowed = parsePatterns(object, ANNOTATION_ALLOWED_NAMESPACES, complaints);
  const denied = parsePatterns(object, ANNOTATION_DENIED_NAMESPACES, complaints);
  if (endpointCidrs === undefined || allowed === "invalid" || denied === "invalid") {
    return undefined;
  }
  const namespaces = { ...(allowed !== undefined && { allowed }), denied: denied ?? [] };
  return { endpointCidrs, namespaces };
}

/** True if a peer may export to a namespace. */
export function isInScope({ allowed, denied }: NamespaceScope, namespace: string): boolean {
  const matches = (pattern: string) =>
    pattern.endsWith("*") ? namespace.startsWith(pattern.slice(0, -1)) : namespace === pattern;
  return (allowed?.some(matches) ?? true) && !denied.some(matches);
}

/** Equal for equal scopes. */
export function scopeText({ endpointCidrs, namespaces }: PeerScope): string {
  return JSON.stringify([endpointCidrs.map(({ text }) => text), namespaces]);
}

/** Undefined without the annotation. */
function parsePatterns(
  object: unknown,
  annotation: string,
  complaints: Complaints,
): readonly string[] | "invalid" | undefined {
  const value = fieldAt(object, "metadata", "annotations", annotation);
  if (isUnset(value)) return undefined;
  const path = `metadata.annotations[${annotation}]`;
  const parts = typeof value === "string" ? value.split(",", MOST_PATTERNS + 1) : [];
  const patterns = parts.map((part) => part.trim());
  const wrong = patterns.find((pattern) => !isLabelName(pattern.replace(/\*$/, "x")));
  if (wrong === undefined && patterns.length > 0 && patterns.length <= MOST_PATTERNS) {
    return patterns;
  }
  complaints.add("invalid-name", path, wrong ?? value);
  return "invalid";
}

/**
 * Parses the declared endpoint ranges of a cluster. Undefined if there are none, or if one is invalid: dropping it would
 * admit or reject the wrong endpoints. A range of all addresses is reported, and used.
 */
function parseEndpointCidrs(object: unknown, complaints: Complaints): readonly Cidr[] | undefined {
  const value = fieldAt(object, "metadata", "annotations", ANNOTATION_ENDPOINT_CIDRS);
  const path = `metadata.annotations[${ANNOTATION_ENDPOINT_CIDRS}]`;
  if (isUnset(value)) return complaints.add("endpoint-cidrs-missing", path, undefined);
  const parts = typeof value === "string" ? value.split(",", MOST_ENDPOINT_RANGES + 1) : [];
  if (parts.length === 0 || parts.length > MOST_ENDPOINT_RANGES) {
    return complaints.add("invalid-cidr", path, value);
  }
  const ranges: Cidr[] = [];
  for (const part of parts) {
    const range = parseCidr(part.trim());
    if (!isCidr(range)) return complaints.add("invalid-cidr", path, part.trim());
    if (range.bits === 0) complaints.add("endpoint-cidrs-open", path, range.text);
    ranges.push(range);
  }
  return ranges;
}
