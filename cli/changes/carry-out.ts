import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { Slots } from "../../common/queue/slots.ts";
import { missingRights, type Right } from "../clusters/api-reviews.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { whyOf } from "../clusters/cluster-fault.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type Change, titleOf } from "../install/change.ts";
import { documentText, type Output, type Printable, printable } from "../output/printable.ts";
import { type PlanLine, planText, sentence } from "../output/table.ts";
import type { Terminal } from "../terminal.ts";
import { clusterOf, type Surroundings } from "./objects.ts";
import { compare, isLeft, type Line, make, rightsOf, sentenceOf } from "./one-change.ts";
import { waitFor } from "./waits.ts";

/** What a command is going to do. */
export interface Plan {
  readonly changes: readonly Change[];
  /** Asked before the first change. Absent: small changes, which are made without a table and a question, each independent of the others. */
  readonly question?: Printable;
  /** Printed if nothing is to be changed; default: `nothing to do`. */
  readonly nothing?: Printable;
  /** Which lines count for that; default: all that change something. */
  readonly matters?: (line: Line) => boolean;
  /** True: takes fields over that other programs own, also without `--force-conflicts`. */
  readonly force?: boolean;
  /** What a user can do if other programs own fields that would change; ends with the flag. */
  readonly onConflict?: string;
  /** What a user should know before the question, in sentences. */
  readonly remarks?: readonly string[];
  /** Prints the comparison in place of a table, and changes nothing. */
  readonly print?: (compared: readonly Compared[]) => void;
  /** Checks before the question; false: it failed, which was said. */
  readonly check?: (compared: readonly Compared[]) => Promise<boolean>;
  /** What is true once a stage has ended, in sentences. */
  readonly milestones?: ReadonlyMap<number, string>;
  /** Printed at the end, unless each change has failed. */
  readonly conclusion?: string;
  /** False: a part could not be read, which was said. The exit code is then 1. */
  readonly isComplete?: boolean;
}

/** A change, and what it would do. */
export interface Compared {
  readonly change: Change;
  readonly lines: readonly Line[];
}

/** Flags of all commands that change clusters (`withChangeFlags`). */
export interface ChangeFlags {
  readonly dryRun?: "client" | "server";
  readonly output?: Output;
  readonly yes?: boolean;
  readonly forceConflicts?: boolean;
  /** Milliseconds for each wait for programs and other clusters. */
  readonly timeout?: number;
}

/** Of a command that waits for nothing. */
const NO_WAIT_MS = 0;

/**
 * Carries out what a command plans, the same way for all commands: compares, prints a table, stops at conflicts, missing rights and
 * `--dry-run`, asks, and then changes stage by stage. A cluster that fails does not keep the others from the end of their stage; the next
 * stage does not begin. `makePlan` prints to the terminal that it gets, because standard output may be a document; an exit code ends the
 * command.
 */
export async function carryOut(
  clusters: readonly Cluster[],
  flags: ChangeFlags,
  whole: Terminal,
  makePlan: (terminal: Terminal) => Promise<Plan | ExitCode>,
): Promise<ExitCode> {
  const report = new Report(whole, flags);
  try {
    const plan = await makePlan(report.terminal);
    if (typeof plan === "number") return plan;
    const { signal, timeOfDay } = whole;
    const around: Surroundings = {
      ...{ clusters: new Map(clusters.map((one) => [one.context, one])), signal, timeOfDay },
      ...{
        force: flags.forceConflicts ?? plan.force ?? false,
        validate: flags.dryRun === "server",
      },
      mayLackKinds: plan.question !== undefined,
    };
    const code =
      plan.question === undefined
        ? await changeAtOnce(plan, around, report, flags)
        : await changeInStages(plan, plan.question, around, report, flags);
    return plan.isComplete === false ? EXIT.failed : code;
  } finally {
    report.end();
  }
}

/** Requests of a cluster at the same time: there may be thousands of exports. */
const AT_ONCE = 16;

/** Compares all changes; nothing is written. Rejects with an ApiFault. */
function compareAll(changes: readonly Change[], around: Surroundings): Promise<Compared[]> {
  const slots = new Map([...around.clusters.keys()].map((on) => [on, new Slots(AT_ONCE)]));
  return Promise.all(
    changes.map(async (change) => {
      const read = () => compare(change, around);
      return { change, lines: await (slots.get(change.on)?.hold(read) ?? read()) };
    }),
  );
}

async function changeInStages(
  plan: Plan,
  question: Printable,
  around: Surroundings,
  report: Report,
  flags: ChangeFlags,
): Promise<ExitCode> {
  const { terminal } = report;
  const { out, note } = terminal;
  const compared = await compareAll(plan.changes, around);
  if (plan.print !== undefined) {
    plan.print(compared);
    return EXIT.well;
  }
  const { matters = () => true, nothing = printable`nothing to do` } = plan;
  const isIdle = !compared.some(({ lines }) =>
    lines.some((line) => (isLeft(line) || line.action === "conflict") && matters(line)),
  );
  const lines = compared.flatMap(planLines);
  // A table of what stays says more than nothing.
  if (lines.length > 0 && !(isIdle && plan.matters !== undefined)) out(planText(lines, terminal));
  if (lines.some(({ action }) => action === "conflict")) {
    const advice = plan.onConflict ?? "Take them over with --force-conflicts.";
    note(printable`error: other programs own fields that would change. ${advice}\n`);
    return EXIT.failed;
  }
  if (isIdle) {
    out(printable`${nothing}\n`);
    return EXIT.well;
  }
  const missing = await Promise.all(
    [...around.clusters.values()].map((on) =>
      missingRights(on, rightsIn(compared, on), around.signal),
    ),
  );
  for (const sentence of missing.flat()) note(printable`error: ${sentence}\n`);
  if (missing.flat().length > 0) return EXIT.failed;
  for (const remark of plan.remarks ?? []) note(printable`${remark}\n`);
  if (flags.dryRun !== undefined) {
    report.add(lines);
    out(printable`dry run: nothing was changed\n`);
    return EXIT.well;
  }
  if (plan.check !== undefined && !(await plan.check(compared))) return EXIT.failed;
  if (!(await isConfirmed(terminal, question, flags.yes))) return EXIT.failed;
  const stages = new Set(compared.map(({ change }) => change.stage).toSorted((a, b) => a - b));
  let isFinished = false;
  try {
    for (const stage of stages) {
      const ofStage = compared.filter(({ change }) => change.stage === stage);
      if (!(await runStage(ofStage, around, report, flags.timeout ?? NO_WAIT_MS)))
        return EXIT.failed;
      const milestone = plan.milestones?.get(stage);
      if (milestone !== undefined) out(printable`${milestone}\n`);
    }
    isFinished = true;
    return EXIT.well;
  } finally {
    // Also at Ctrl-C, which prints nothing else.
    if (!isFinished) note(printable`not finished: run the same command again to continue\n`);
  }
}

/** Makes the changes of a stage; false if a cluster failed, which is then said. */
async function runStage(
  compared: readonly Compared[],
  around: Surroundings,
  report: Report,
  within: number,
): Promise<boolean> {
  const contexts = [...new Set(compared.map(({ change }) => change.on))];
  const ended = await Promise.allSettled(
    contexts.map(async (context) => {
      const on = clusterOf(around, context);
      for (const { change, lines } of compared.filter((one) => one.change.on === context)) {
        // Ctrl-C ends a command between two changes, each of which is complete.
        around.signal.throwIfAborted();
        // What is to be deleted may be made meanwhile.
        if (change.act === "remove" || change.act === "sweep" || lines.some(isLeft))
          for (const line of await make(change, around)) if (isLeft(line)) report.done(on, line);
        const { wait } = change;
        const news = wait && (await waitFor(wait, on, around, within));
        if (news !== undefined) report.terminal.out(printable`${context}: ${news}\n`);
      }
    }),
  );
  around.signal.throwIfAborted();
  let isWell = true;
  for (const [i, one] of ended.entries()) {
    if (one.status === "fulfilled") continue;
    report.failed(clusterOf(around, contexts[i] ?? ""), one.reason);
    isWell = false;
  }
  return isWell;
}

const OF_ONE_OBJECT: readonly FaultReason[] = [
  ...(["absent", "forbidden", "invalid", "refused", "write-conflict"] as const),
  ...(["namespace-terminating", "webhook-failed", "write-failed"] as const),
];

/** True for a fault that does not concern the other objects of a cluster. PURE. */
export function isOfOneObject(thrown: unknown): thrown is ApiFault {
  return thrown instanceof ApiFault && OF_ONE_OBJECT.includes(thrown.reason);
}

/** Makes small changes in all clusters at the same time, and says so; a fault of one object does not keep others from being changed. */
async function changeAtOnce(
  { changes, nothing, conclusion }: Plan,
  around: Surroundings,
  report: Report,
  { dryRun }: ChangeFlags,
): Promise<ExitCode> {
  const { terminal } = report;
  if (changes.length === 0 && nothing !== undefined) terminal.out(printable`${nothing}\n`);
  const contexts = [...new Set(changes.map(({ on }) => on))];
  let changed = 0;
  let failed = 0;
  const change = async (one: Change): Promise<void> => {
    const before = await compare(one, around);
    const isDue = dryRun === undefined && before.some(isLeft);
    const lines = isDue ? await make(one, around) : before;
    for (const line of lines) report.done(clusterOf(around, one.on), line);
    changed++;
  };
  await Promise.all(
    contexts.map(async (context) => {
      for (const one of changes.filter(({ on }) => on === context)) {
        around.signal.throwIfAborted();
        try {
          await change(one);
        } catch (thrown) {
          around.signal.throwIfAborted();
          report.failed(clusterOf(around, context), thrown);
          failed++;
          if (!isOfOneObject(thrown)) return;
        }
      }
    }),
  );
  if (changed > 0 && conclusion !== undefined) {
    const end = dryRun === undefined ? "" : " (dry run)";
    terminal.out(printable`${sentence(`${conclusion}${end}`, terminal)}\n`);
  }
  return failed === 0 ? EXIT.well : EXIT.failed;
}

/** Lines of the plan that is printed: not of what is not there to be deleted. */
function planLines({ change, lines }: Compared): PlanLine[] {
  return lines
    .filter(({ action }) => action !== "not found")
    .map(({ object, action, detail }) => ({
      ...{ context: change.on, action, object: titleOf(object) },
      ...(detail !== undefined && { detail }),
    }));
}

/** What the changes of a cluster need to be allowed. PURE. */
function rightsIn(compared: readonly Compared[], { context }: Cluster): Right[] {
  const ofCluster = compared.filter(({ change }) => change.on === context);
  const left = (lines: readonly Line[]) => lines.filter(isLeft).map(({ object }) => object);
  const written = new Set(
    ofCluster.flatMap(({ change, lines }) =>
      change.act === "put" ? left(lines).map(titleOf) : [],
    ),
  );
  return ofCluster.flatMap(({ change, lines }) => {
    // What is created for a time is not there yet.
    const isLater = change.act === "remove" && written.has(titleOf(change.object));
    return rightsOf(change, isLater ? [change.object] : left(lines));
  });
}

/** What a command did, or would do: as sentences while it happens, or as a document at its end, with the sentences on standard error. */
class Report {
  /** Of the command: what it prints besides goes to standard error if standard output is a document. */
  readonly terminal: Terminal;
  readonly #end: () => void;
  readonly #changes: PlanLine[] = [];
  readonly #isDry: boolean;

  constructor(terminal: Terminal, { output = "table", dryRun }: ChangeFlags) {
    this.#isDry = dryRun !== undefined;
    this.terminal = output === "table" ? terminal : { ...terminal, out: terminal.note };
    this.#end = () =>
      output === "table" || terminal.out(documentText({ changes: this.#changes }, output));
  }

  /** Prints the document, if there is one; also of a command that failed half-way. */
  end(): void {
    this.#end();
  }

  /** Notes a change, and prints it. */
  done({ context }: Pick<Cluster, "context">, line: Line): void {
    this.#changes.push({ context, action: line.action, object: titleOf(line.object) });
    const text = `${context}: ${sentenceOf(line)}${this.#isDry ? " (dry run)" : ""}`;
    this.terminal.out(printable`${sentence(text, this.terminal)}\n`);
  }

  /** Notes changes that were printed as a table. */
  add(changes: Iterable<PlanLine>): void {
    this.#changes.push(...changes);
  }

  /** Prints the fault of a cluster; throws other errors. */
  failed(cluster: Cluster, thrown: unknown): void {
    if (!(thrown instanceof ApiFault)) throw thrown;
    this.terminal.note(printable`error: ${cluster.context}: ${whyOf(cluster, thrown)}\n`);
  }
}

/** Asks whether to continue; false if the answer is not yes, or nobody can answer, which is then said. */
export async function isConfirmed(
  { ask, note }: Terminal,
  question: Printable,
  yes: boolean | undefined,
): Promise<boolean> {
  if (yes === true) return true;
  const answer = await ask(printable`${question} [y/N] `);
  if (answer === undefined)
    note(printable`Standard input is not a terminal: confirm with --yes.\n`);
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}
