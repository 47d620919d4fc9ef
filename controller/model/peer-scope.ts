import type { Cidr } from "../../api/cidr.ts";
import { ANNOTATION_ALLOWED_NAMESPACES, ANNOTATION_DENIED_NAMESPACES } from "../../api/keys.ts";
import { isLabelName } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseEndpointCidrs } from "./parse-endpoint-cidrs.ts";

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
