/** `namespace/name`: the key of an object in maps and logs. */
export type ObjectKey = `${string}/${string}`;

/** The key of an object; both names are valid. */
export function objectKey(namespace: string, name: string): ObjectKey {
  return `${namespace}/${name}`;
}

/** The parts of a key. */
export function namesOf(key: string): { readonly namespace: string; readonly name: string } {
  const end = key.indexOf("/");
  return { namespace: key.slice(0, Math.max(end, 0)), name: key.slice(end + 1) };
}

/** RFC 1123 DNS label, lower case: namespaces, Services, ports. Safe in shells, paths and iptables-restore. */
export function isLabelName(text: string): boolean {
  return text.length <= 63 && isDnsPart(text);
}

function isDnsPart(text: string): boolean {
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);
}

/** RFC 1123 DNS subdomain, lower case: names of EndpointSlices and Nodes. As in Kubernetes, parts may exceed 63 characters. */
export function isSubdomainName(text: string): boolean {
  return text.length <= 253 && text.split(".").every((part) => isDnsPart(part));
}

/** A cluster ID (KEP-2149, KEP-1645): one DNS label, or two joined by a dot; at most 63 characters, as a label value. */
export function isClusterId(text: string): boolean {
  return text.length <= 63 && text.split(".").length <= 2 && isSubdomainName(text);
}

/** A non-empty Kubernetes label value, such as a region or zone. */
export function isLabelValue(text: string): boolean {
  return text.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(text);
}

/** A Kubernetes qualified name, with or without a DNS prefix: a label or annotation key, an `appProtocol`. */
export function isQualifiedName(text: string): boolean {
  const [name = "", prefix, ...rest] = text.split("/", 3).reverse();
  return (
    rest.length === 0 && isLabelValue(name) && (prefix === undefined || isSubdomainName(prefix))
  );
}

/** ID of a clusterset. KEP-2149 allows any text, but it is used as a label value. */
export function isClusterSetId(text: string): boolean {
  return isLabelValue(text);
}

/** Order of two texts as `sort()` has it: by UTF-16 code units, and so the same in every locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
