import type { Manifest } from "./rendered.ts";

/** Labels that a chart's objects have in addition. */
const OF_HELM = new Set(["app.kubernetes.io/managed-by", "helm.sh/chart"]);

/** Objects by kind, namespace and name, each in the form in which two descriptions of it are equal. */
export function comparable(objects: readonly Manifest[]): Map<string, unknown> {
  const entries = objects.map((object) => [keyOf(object), normal(withoutOfHelm(object))] as const);
  const all = new Map(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  if (all.size !== objects.length) throw new Error("an object is rendered twice");
  return all;
}

/** With the label that overlays give all their objects, but neither the hub's nor those of components. */
export function labelled(object: Manifest): Manifest {
  const labels = { ...object.metadata.labels, "app.kubernetes.io/part-of": "clusterset-proxy" };
  return { ...object, metadata: { ...object.metadata, labels } };
}

function keyOf({ kind, metadata: { namespace = "", name } }: Manifest): string {
  return `${kind} ${namespace}/${name}`;
}

function withoutOfHelm(object: Manifest): Manifest {
  const { labels = {}, ...metadata } = object.metadata;
  const others = Object.entries(labels).filter(([key]) => !OF_HELM.has(key));
  return { ...object, metadata: { ...metadata, labels: Object.fromEntries(others) } };
}

/** Without nulls and empty maps and lists, which mean the same as no field, and with lists in the order of their names. */
function normal(value: unknown): unknown {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(normal).toSorted(byName);
  const fields = Object.entries(value).map(([key, one]) => [key, normal(one)] as const);
  return Object.fromEntries(
    fields.filter(([, one]) => !isEmpty(one)).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === "object" && Object.keys(value ?? {}).length === 0);
}

function byName(a: unknown, b: unknown): number {
  const [first, second] = [nameOf(a), nameOf(b)];
  return first < second ? -1 : Number(first > second);
}

function nameOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value !== null && typeof value === "object" && "name" in value ? String(value.name) : "";
}
