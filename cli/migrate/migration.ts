import type { Reason } from "../../api/reasons.ts";
import type { Severity } from "../exit-code.ts";
import { joined, NOTHING, type Printable, printable } from "../output/printable.ts";
import { type Cell, PLAIN, type Screen, sentence, table } from "../output/table.ts";
import type { FoundObject } from "./found.ts";

/** Values of `--from`. */
export const SOURCES = ["karmada", "cloudmap", "submariner", "cilium", "by-hand"] as const;
/** One of `SOURCES`. */
export type Source = (typeof SOURCES)[number];

/** Steps that make objects, in their order. */
export const OBJECT_STEPS = ["identity", "export", "policy", "switch", "alias"] as const;
/** One of `OBJECT_STEPS`. */
export type ObjectStep = (typeof OBJECT_STEPS)[number];

/** What happens to an object. */
export type MigrationReason = Extract<
  Reason,
  "left-behind" | "made" | "needs-join" | "no-counterpart" | "taken-over" | "translated-addresses"
>;

/** One object of the other implementation, or one of its settings. */
export interface Finding {
  /** Such as `ServiceImport shop/web`. */
  readonly object: string;
  readonly reason: MigrationReason;
  readonly detail?: string;
  /** The step that makes something of it. */
  readonly step?: ObjectStep;
  /** The object of ours that the step applies; absent if it is not known yet. */
  readonly manifest?: object;
}

/** One step of a migration, for all clusters. */
export interface Step {
  readonly title: string;
  readonly commands: readonly string[];
}

/** What happens to one cluster's objects. */
export interface Migration {
  readonly context: string;
  readonly findings: readonly Finding[];
}

/** What is known of one implementation. */
export interface SourceKind {
  /** Its name in texts. */
  readonly title: string;
  /** Its guide in docs/guides. */
  readonly guide: string;
  /** `needing`: the contexts in which a step has something to make. Steps without commands are left out. */
  readonly steps: (
    contexts: readonly string[],
    needing: (step: ObjectStep) => readonly string[],
  ) => readonly Step[];
}

/** The manifests of a step, in order. PURE. */
export function manifestsOf({ findings }: Migration, step: ObjectStep): object[] {
  return findings.flatMap((one) => (one.step === step ? (one.manifest ?? []) : []));
}

/** How bad a finding is: the migration cannot be done, or something gets lost with it. PURE. */
export function severityOf({ reason }: Finding): Severity {
  if (reason === "translated-addresses") return "fault";
  return reason === "no-counterpart" || reason === "needs-join" ? "warning" : "well";
}

/** `ServiceImport shop/web`. PURE. */
export function titleOf(kind: string, { namespace, name }: FoundObject): string {
  return `${kind} ${namespace === "" ? name : `${namespace}/${name}`}`;
}

/** A finding about one object. PURE. */
export function finding(
  kind: string,
  about: FoundObject,
  reason: MigrationReason,
  detail?: string,
  made: Pick<Finding, "manifest" | "step"> = {},
): Finding {
  return {
    object: titleOf(kind, about),
    reason,
    ...(detail !== undefined && { detail }),
    ...made,
  };
}

/** The steps of a migration. PURE. */
export function stepsOf({ steps }: SourceKind, all: readonly Migration[]): Step[] {
  const needing = (step: ObjectStep) =>
    all.flatMap(({ context, findings }) =>
      findings.some((one) => one.step === step) ? context : [],
    );
  const contexts = all.map(({ context }) => context);
  return steps(contexts, needing).filter(({ commands }) => commands.length > 0);
}

/** A loop over the contexts. PURE. */
export function inEach(contexts: readonly string[], command: string): string {
  return `for c in ${contexts.map(quoted).join(" ")}; do ${command}; done`;
}

/** Contexts may have characters of the shell. */
function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The commands that apply a step's objects in all contexts. PURE. */
export function applying(source: Source, contexts: readonly string[], step: ObjectStep): string[] {
  if (contexts.length === 0) return [];
  const print = `kubectl clusterset migrate --from ${source} --context "$c" --step ${step} -o yaml`;
  return [
    inEach(contexts, `${print} | kubectl --context "$c" diff -f -`),
    inEach(contexts, `${print} | kubectl --context "$c" apply -f -`),
  ];
}

/** Join, and see that all is well. The user chooses the ID of the clusterset. PURE. */
export function joining(contexts: readonly string[]): string[] {
  const names = contexts.map(quoted);
  return [
    `kubectl clusterset join ${names.join(" ")} --clusterset CLUSTERSET --dry-run=client`,
    // The CRDs are there already, applied by another program.
    `kubectl clusterset join ${names.join(" ")} --clusterset CLUSTERSET --force-conflicts   # if only CRDs conflict: their objects stay`,
    `kubectl clusterset status --context ${names.join(",")}`,
  ];
}

const STYLES = { well: undefined, warning: "warning", fault: "fault" } as const;

/** What happens to the objects of all contexts, and the steps to it. PURE. */
export function migrationText(
  { title, guide }: SourceKind,
  all: readonly Migration[],
  steps: readonly Step[],
  screen: Screen = PLAIN,
): Printable {
  const rows = all.flatMap(({ context, findings }) =>
    findings.map((one): (Cell | string)[] => {
      const style = STYLES[severityOf(one)];
      const reason = { text: one.reason, ...(style !== undefined && { style }) };
      return [context, one.object, reason, one.detail ?? ""];
    }),
  );
  if (rows.length === 0) return printable`Nothing of ${title} was found.\n`;
  const found = table(["CONTEXT", "OBJECT", "REASON", "DETAIL"], rows, screen);
  const text = steps.map((step, i) => {
    const commands = step.commands.map((line) => printable`     ${line}\n`);
    const title = sentence(`${i + 1}. ${step.title}.`, screen);
    return printable`\n${title}\n${joined(commands)}`;
  });
  const order = `Nothing was changed. Steps, in an order that keeps connections (docs/guides/${guide}):`;
  const head = steps.length === 0 ? NOTHING : printable`\n${sentence(order, screen)}\n`;
  return joined([found, head, ...text]);
}
