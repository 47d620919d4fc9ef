import { fieldAt, isFields, textField } from "../../api/parse/fields.ts";

/** An object of any implementation, as far as a migration looks at it. */
export interface FoundObject {
  readonly namespace: string;
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
  /** Kinds of its owners. */
  readonly owners: readonly string[];
  readonly raw: unknown;
}

/** What is read of one cluster. */
export interface Found {
  readonly context: string;
  readonly services: readonly FoundObject[];
  readonly exports: readonly FoundObject[];
  readonly imports: readonly FoundObject[];
  /** Slices of ServiceImports, and those that other implementations add to Services. */
  readonly slices: readonly FoundObject[];
  readonly properties: readonly FoundObject[];
  readonly namespaces: readonly FoundObject[];
  /** Deployments and DaemonSets: they show which programs run. */
  readonly workloads: readonly FoundObject[];
  /** Absent without agents in the cluster. */
  readonly addresses?: AddressRules;
}

/** How ClusterSetIPs are chosen in this cluster. */
export interface AddressRules {
  /** True for an address of the agents' ClusterSet CIDRs. */
  readonly isOurs: (address: string) => boolean;
  /** A free address of the same family for an import; undefined if there is none. */
  readonly choose: (namespace: string, name: string, like: string) => string | undefined;
}

/** An object of an API server; undefined without a name. PURE. */
export function foundObject(raw: unknown): FoundObject | undefined {
  const metadata = fieldAt(raw, "metadata");
  const name = textField(metadata, "name");
  if (name === undefined) return undefined;
  const owners = fieldAt(metadata, "ownerReferences");
  return {
    namespace: textField(metadata, "namespace") ?? "",
    name,
    labels: textsAt(metadata, "labels"),
    annotations: textsAt(metadata, "annotations"),
    owners: Array.isArray(owners) ? owners.flatMap((one) => textField(one, "kind") ?? []) : [],
    raw,
  };
}

/** The strings of a mapping, such as `spec.exportedAnnotations`. PURE. */
export function textsAt(from: unknown, ...path: readonly string[]): ReadonlyMap<string, string> {
  const found = fieldAt(from, ...path);
  const entries = isFields(found) ? Object.entries(found) : [];
  return new Map(
    entries.flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])),
  );
}

/** The object of the same namespace and name. PURE. */
export function sameName(
  list: readonly FoundObject[],
  { namespace, name }: Pick<FoundObject, "namespace" | "name">,
): FoundObject | undefined {
  return list.find((one) => one.namespace === namespace && one.name === name);
}
