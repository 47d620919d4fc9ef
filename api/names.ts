/** `namespace/name`: how an object is keyed, logged and found with grep on a node. */
export type ObjectKey = `${string}/${string}`;

/** Joins what `isLabelName` has accepted. */
export function objectKey(namespace: string, name: string): ObjectKey {
  return `${namespace}/${name}`;
}

/**
 * RFC 1123 DNS label, lower case: namespaces, Services (so ServiceImports, KEP-1645: same name as the
 * Service), cluster ids and port names. It holds no character that a shell, a file system, iptables-restore
 * or a JavaScript object would read as anything but itself; `__proto__` is none.
 */
export function isLabelName(text: string): boolean {
  return text.length <= 63 && isDnsPart(text);
}

function isDnsPart(text: string): boolean {
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);
}

/**
 * RFC 1123 DNS subdomain, lower case: names of EndpointSlices and Nodes. As Kubernetes reads it, which limits the
 * whole, not the parts: the slices of a Service of 63 characters have names of 69.
 */
export function isSubdomainName(text: string): boolean {
  return text.length <= 253 && text.split(".").every((part) => isDnsPart(part));
}

/**
 * A cluster id (KEP-2149, and KEP-1645 as of 2026): one DNS label, or two joined by a dot. It is carried as
 * a label value, hence the 63 characters.
 */
export function isClusterId(text: string): boolean {
  return text.length <= 63 && text.split(".").length <= 2 && isSubdomainName(text);
}

/** A Kubernetes label value that is not empty: regions and zones (`topology.kubernetes.io/…`). */
export function isLabelValue(text: string): boolean {
  return text.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(text);
}

/**
 * A Kubernetes qualified name: a label or annotation key, an `appProtocol`. A name of at most 63 characters, after a
 * DNS subdomain and a slash where it has a prefix.
 */
export function isQualifiedName(text: string): boolean {
  const [name = "", prefix, ...rest] = text.split("/", 3).reverse();
  return (
    rest.length === 0 && isLabelValue(name) && (prefix === undefined || isSubdomainName(prefix))
  );
}

/** Id of a clusterset (KEP-2149 says no more than that it is text): it is carried as a label value. */
export function isClusterSetId(text: string): boolean {
  return isLabelValue(text);
}
