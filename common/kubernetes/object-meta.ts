import { field, textField } from "../../api/parse/fields.ts";

/** Metadata that identify an object and its version. */
export interface ObjectMeta {
  /** `namespace/name`, or `name` for cluster-scoped kinds. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * Longest values that Kubernetes accepts or assigns. Names and versions of all objects of a cluster stay in memory: a hostile
 * server must not fill it.
 */
const MOST_CHARACTERS = { name: 253, namespace: 63, uid: 63, resourceVersion: 64 } as const;
const PARTS = ["name", "namespace", "uid", "resourceVersion"] as const;

/** The metadata of an object; undefined if they are invalid. PURE. */
export function metaOf(object: unknown): ObjectMeta | undefined {
  const metadata = field(object, "metadata");
  const name = textField(metadata, "name") ?? "";
  const namespace = textField(metadata, "namespace") ?? "";
  const uid = textField(metadata, "uid") ?? "";
  const resourceVersion = textField(metadata, "resourceVersion") ?? "";
  const parts = { name, namespace, uid, resourceVersion };
  for (const part of PARTS) if (parts[part].length > MOST_CHARACTERS[part]) return undefined;
  if (name === "" || resourceVersion === "") return undefined;
  if (!isPathSegment(name) || !isPathSegment(namespace)) return undefined;
  return { key: namespace === "" ? name : `${namespace}/${name}`, uid, resourceVersion };
}

/** As the API server accepts names: with a slash, keys would be ambiguous; a dot or two are other paths (IsValidPathSegmentName of apimachinery). */
function isPathSegment(text: string): boolean {
  return !/^\.\.?$|[/%]/.test(text);
}

/** True if version `a` is certainly older than `b`: decimal numbers that grow with each write (KEP-5504). PURE. */
export function isOlder(a: string, b: string): boolean {
  if (!/^[1-9]\d*$/.test(a) || !/^[1-9]\d*$/.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}
