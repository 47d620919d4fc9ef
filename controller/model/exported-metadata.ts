import {
  ANNOTATION_CLUSTER_SELECTORS,
  ANNOTATION_CLUSTER_WEIGHTS,
  ANNOTATION_MIN_READY,
  ANNOTATION_ON_ENDPOINT_DEATH,
  ANNOTATION_UDP,
  ANNOTATION_UNSELECTED_CLUSTERS,
} from "../../api/keys.ts";
import { isLabelValue, isQualifiedName } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { isFields, isUnset } from "../../api/parse/fields.ts";
import { MOST_KEY_CHARACTERS, MOST_KEYS } from "./limits.ts";

/**
 * Domains of keys that components act on: exported to an import, they would be taken for a component's. Deployment tools
 * even delete objects that carry their labels and are not part of a deployment.
 */
const RESERVED_DOMAINS = [
  "kubernetes.io",
  "k8s.io",
  "x-k8s.io",
  "clusterset-proxy.io",
  "argoproj.io",
  "cattle.io",
  "fluxcd.io",
  "helm.sh",
  "k14s.io",
] as const;

/** Our annotations that configure an import, and may be exported: policies. */
const POLICIES: readonly string[] = [
  ANNOTATION_CLUSTER_SELECTORS,
  ANNOTATION_CLUSTER_WEIGHTS,
  ANNOTATION_MIN_READY,
  ANNOTATION_ON_ENDPOINT_DEATH,
  ANNOTATION_UDP,
  ANNOTATION_UNSELECTED_CLUSTERS,
];

/** Recommended labels. No component acts on them, except that Argo CD tracks its objects by `instance`, and Helm by `managed-by`. */
const RECOMMENDED: readonly string[] = ["component", "name", "part-of", "version"].map(
  (name) => `app.kubernetes.io/${name}`,
);

/** True for a key that must not be exported. */
export function isReservedKey(key: string): boolean {
  const domain = key.slice(0, Math.max(key.indexOf("/"), 0));
  if (RECOMMENDED.includes(key) || POLICIES.includes(key)) return false;
  return RESERVED_DOMAINS.some((own) => domain === own || domain.endsWith(`.${own}`));
}

/** Exported annotations: our policies, and those of users. */
export function split(annotations: Readonly<Record<string, string>>): {
  readonly policies: Readonly<Record<string, string>>;
  readonly users: Readonly<Record<string, string>>;
} {
  const { policies = [], users = [] } = Object.groupBy(Object.entries(annotations), ([key]) =>
    POLICIES.includes(key) ? "policies" : "users",
  );
  return { policies: Object.fromEntries(policies), users: Object.fromEntries(users) };
}

/** Exported labels in order of their keys; invalid and reserved ones are left out. */
export function parseExportedLabels(
  labels: unknown,
  path: string,
  complaints: Complaints,
): Readonly<Record<string, string>> {
  const isValue = (value: string) => value === "" || isLabelValue(value);
  return parseKeys(labels, path, isValue, complaints);
}

/** Exported annotations in order of their keys; invalid and reserved ones are left out. */
export function parseExportedAnnotations(
  annotations: unknown,
  path: string,
  complaints: Complaints,
): Readonly<Record<string, string>> {
  // A lone surrogate has no UTF-8 form.
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
  // In order, so that all clusters drop the same keys.
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

/**
 * Keys that imports get from exports by default: those without a domain, which no component may act on by Kubernetes'
 * convention, and recommended labels that no deployment tool acts on.
 */
export const DEFAULT_EXPORTED_KEYS =
  "*,app.kubernetes.io/component,app.kubernetes.io/name,app.kubernetes.io/part-of,app.kubernetes.io/version";

/** True for a key of labels or annotations, or one with `*` as its name: any name of that domain, or without one. */
export function isKeyPattern(text: string): boolean {
  return isQualifiedName(text.replace(/(^|\/)\*$/, "$1any"));
}

/** True if a pattern matches the key. */
export function matchesKey(patterns: readonly string[], key: string): boolean {
  const domain = key.slice(0, key.indexOf("/") + 1);
  return patterns.includes(key) || patterns.includes(`${domain}*`);
}
