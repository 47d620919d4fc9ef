import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { compareText } from "../../api/names.ts";
import { kubernetesCommand } from "../apiserver/commands.ts";

/** deploy/charts. */
export const CHARTS = join(import.meta.dirname, "../../deploy/charts");

/** An object of Kubernetes, as a manifest has it. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** Values of a chart. */
export type Values = Readonly<Record<string, unknown>>;

/** Objects that `helm template` renders, without a cluster. Throws if Helm fails, with all that it prints. */
export function helmTemplate(
  chart: string,
  values: Values = {},
  namespace = "clusterset-proxy",
  kubernetes = "1.36.0",
): Manifest[] {
  const argv = ["template", "csp", join(CHARTS, chart), "--namespace", namespace];
  const more = ["--kube-version", kubernetes, "--values", "-"];
  return objectsOf(output(kubernetesCommand("helm"), [...argv, ...more], JSON.stringify(values)));
}

/** What Helm prints when it rejects values. */
export function rejection(chart: string, values: Values): string {
  try {
    helmTemplate(chart, values);
  } catch (error) {
    return (error as Error).message;
  }
  return assert.fail("Helm accepts them");
}

/** Objects that `kubectl kustomize` prints for a folder. */
export function kustomize(folder: string): Manifest[] {
  return objectsOf(output(kubernetesCommand("kubectl"), ["kustomize", folder]));
}

/** Runs a command and returns its output. Throws if it fails. */
export function output(program: string, argv: readonly string[], input = ""): string {
  const { status, stdout, stderr } = spawnSync(program, [...argv], { encoding: "utf8", input });
  if (status !== 0) throw new Error(`${program} ${argv.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}

/** The objects of a text of YAML documents, as Kubernetes reads it: YAML 1.1, in which 0444 is octal. */
export function objectsOf(text: string): Manifest[] {
  return parseAllDocuments(text, { version: "1.1" })
    .map((document) => document.toJS({ maxAliasCount: -1 }) as Manifest | null)
    .filter((object) => object !== null);
}

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
  return compareText(nameOf(a), nameOf(b));
}

function nameOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value !== null && typeof value === "object" && "name" in value ? String(value.name) : "";
}
