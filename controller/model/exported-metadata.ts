import { ANNOTATION_CLUSTER_SELECTORS, ANNOTATION_ON_ENDPOINT_DEATH } from "../../api/keys.ts";
import { isLabelValue, isQualifiedName } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { isFields, isUnset } from "../../api/parse/fields.ts";
import { MOST_KEY_CHARACTERS, MOST_KEYS } from "./limits.ts";

/**
 * Domains whose keys mean something to Kubernetes or to us: on an import, an exported one would pass for what a
 * component of the importing cluster had said.
 */
const RESERVED_DOMAINS = ["kubernetes.io", "k8s.io", "x-k8s.io", "clusterset-proxy.io"] as const;

/** Annotations of ours that an export may ask for: they say how the import is to be served, and agents read them. */
const FOR_IMPORTS: readonly string[] = [ANNOTATION_CLUSTER_SELECTORS, ANNOTATION_ON_ENDPOINT_DEATH];

/** The one that Kubernetes' documentation recommends to users; no component acts on it. */
const USERS_DOMAIN = "app.kubernetes.io";

/** True for a key that nobody may export. */
export function isReservedKey(key: string): boolean {
  const domain = key.slice(0, Math.max(key.indexOf("/"), 0));
  if (domain === USERS_DOMAIN || FOR_IMPORTS.includes(key)) return false;
  return RESERVED_DOMAINS.some((own) => domain === own || domain.endsWith(`.${own}`));
}

/** Exported labels, by key in order; what is no label, or must not be exported, is left out. */
export function parseExportedLabels(
  labels: unknown,
  path: string,
  complaints: Complaints,
): Readonly<Record<string, string>> {
  const isValue = (value: string) => value === "" || isLabelValue(value);
  return parseKeys(labels, path, isValue, complaints);
}

/** Exported annotations, by key in order; what is no annotation, or must not be exported, is left out. */
export function parseExportedAnnotations(
  annotations: unknown,
  path: string,
  complaints: Complaints,
): Readonly<Record<string, string>> {
  // Half of a surrogate pair is no text: it has no UTF-8 form, and becomes another text on its way.
  return parseKeys(annotations, path, (value) => value.isWellFormed(), complaints);
}

function parseKeys(
  map: unknown,
  path: string,
  isValue: (text: string) => boolean,
  complaints: Complaints,
): Readonly<Record<string, string>> {
  if (isUnset(map)) return {};
  if (!isFields(map)) {
    complaints.add("invalid-object", path, map);
    return {};
  }
  const kept: [string, string][] = [];
  let characters = 0;
  // In order of the keys, so that all clusters leave out the same.
  for (const key of Object.keys(map).sort()) {
    const value = map[key];
    if (!isQualifiedName(key)) complaints.add("invalid-name", path, key);
    else if (isReservedKey(key)) complaints.add("reserved-key", path, key);
    else if (typeof value !== "string" || !isValue(value)) {
      complaints.add("invalid-label", `${path}[${key}]`, value);
    } else {
      characters += key.length + value.length;
      if (kept.length === MOST_KEYS || characters > MOST_KEY_CHARACTERS) {
        complaints.add("too-many-keys", path, Object.keys(map).length);
        break;
      }
      kept.push([key, value]);
    }
  }
  return Object.fromEntries(kept);
}
