import { isQualifiedName } from "../../api/names.ts";

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
