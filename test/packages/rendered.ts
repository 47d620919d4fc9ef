import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
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
): Manifest[] {
  const argv = ["template", "csp", join(CHARTS, chart), "--namespace", namespace];
  const more = ["--kube-version", "1.36.0", "--values", "-"];
  return objectsOf(output(kubernetesCommand("helm"), [...argv, ...more], JSON.stringify(values)));
}

/** What Helm prints when it rejects values. */
export function rejection(chart: string, values: Values): string {
  let said = "";
  assert.throws(
    () => helmTemplate(chart, values),
    (error: Error) => {
      said = error.message;
      return true;
    },
  );
  return said;
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
