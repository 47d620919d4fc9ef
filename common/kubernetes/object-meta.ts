import { field, textField } from "./json.ts";

/** What a reflector keeps of an object. */
export interface ObjectMeta {
  /** `namespace/name`, or `name` where the kind has no namespaces. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The identity of an object; undefined if it has none. PURE. */
export function metaOf(object: unknown): ObjectMeta | undefined {
  const metadata = field(object, "metadata");
  const name = textField(metadata, "name") ?? "";
  const namespace = textField(metadata, "namespace") ?? "";
  const uid = textField(metadata, "uid") ?? "";
  const resourceVersion = textField(metadata, "resourceVersion") ?? "";
  // A slash would let one object pass for another.
  if (name === "" || resourceVersion === "" || `${name}${namespace}`.includes("/"))
    return undefined;
  return { key: namespace === "" ? name : `${namespace}/${name}`, uid, resourceVersion };
}

/**
 * True if version `a` is certainly older than `b`. Versions are decimal numbers that grow with every write
 * (KEP-5504); of a server that numbers in another way, nothing is certain. PURE.
 */
export function isOlder(a: string, b: string): boolean {
  if (!/^[1-9]\d*$/.test(a) || !/^[1-9]\d*$/.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}
