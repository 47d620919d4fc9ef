import { type Command, InvalidArgumentError } from "commander";
import { missingRights } from "../clusters/api-reviews.ts";
import {
  applyJoin,
  type ContextPlan,
  isDone,
  type JoinOptions,
  NAMES_OBJECT,
  planJoin,
  plannedOf,
} from "../clusters/join-plan.ts";
import { untilRolledOut } from "../clusters/rollout.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { titleOf } from "../install/install-object.ts";
import { outsideOf } from "../install/ranges.ts";
import { WORKLOADS } from "../install/workloads.ts";
import { documentText } from "../output/document.ts";
import { printable } from "../output/printable.ts";
import { type PlanLine, planText } from "../output/table.ts";
import { untilControllersSee } from "../programs/controllers-see.ts";
import { runProbes } from "../reach/probe.ts";
import { probesOf } from "../reach/probes-of.ts";
import { nodeWarnings, reachFaults, reachTable } from "../reach/report.ts";
import type { Terminal } from "../terminal.ts";
import { isConfirmed } from "./changes.ts";
import { withNamedClusters } from "./clusterset-flags.ts";
import { examined } from "./join-examination.ts";
import { type JoinFlags, withJoinFlags } from "./join-flags.ts";

/** `join CONTEXT…`. */
export function addJoin(program: Command, terminal: Terminal, end: (code: ExitCode) => void): void {
  withJoinFlags(program.command("join"))
    .summary("make clusters members of a clusterset")
    .description(
      "Make clusters members of a clusterset: CRDs, agents and controllers, identity, registries, tokens, and names in CoreDNS.\n" +
        "Prints what it will do and asks first. It can be repeated: what is there stays, and a run after a break continues.\n" +
        "To add a cluster later, name its context together with those of all members.",
    )
    .action(async (contexts: readonly string[], flags: JoinFlags) =>
      end(await join(contexts, flags, terminal)),
    );
}

function join(
  contexts: readonly string[],
  flags: JoinFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  if (flags.skipManifests === true && flags.component !== undefined)
    throw new InvalidArgumentError("--component is of the manifests that --skip-manifests leaves.");
  return withNamedClusters(contexts, flags, terminal, async ({ members, hub }) => {
    const options = await examined(members, hub, flags, terminal);
    if (options === undefined) return EXIT.failed;
    const plans = await planJoin(options);
    if (flags.output !== undefined) return printManifests(plans, terminal);
    return carryOut(plans, options, flags, terminal);
  });
}

/** Prints the plan, and carries it out if nothing is in the way and the user agrees. */
async function carryOut(
  plans: readonly ContextPlan[],
  options: JoinOptions,
  flags: JoinFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const { out, note, signal } = terminal;
  const lines = plans.flatMap(linesOf);
  out(planText(lines, terminal));
  const conflicts = lines.filter(({ action }) => action === "conflict");
  if (conflicts.length > 0) {
    note(
      printable`error: other programs own fields that would change. Change them there, or take them over with --force-conflicts.\n`,
    );
    return EXIT.failed;
  }
  const rights = await Promise.all(
    plans.map((plan) => {
      const objects = plannedOf(plan).filter(({ action }) => action !== "unchanged");
      return missingRights(
        plan.on,
        objects.map(({ object }) => object),
        signal,
      );
    }),
  );
  for (const sentence of rights.flat()) note(printable`error: ${sentence}\n`);
  if (rights.flat().length > 0) return EXIT.failed;
  if (plans.every(isDone)) {
    out(printable`nothing to do\n`);
    return EXIT.well;
  }
  if (flags.dryRun !== undefined) {
    out(printable`dry run: nothing was changed\n`);
    return EXIT.well;
  }
  if (!flags.skipReachability && !(await isReachable(plans, options, flags.timeout, terminal)))
    return EXIT.failed;
  if (!(await isConfirmed(terminal, printable`Are the ranges right, and continue?`, flags.yes)))
    return EXIT.failed;
  await applyJoin(plans, {
    ...{ force: options.force, signal, timeOfDay: terminal.timeOfDay() },
    done: ({ context }, title, action) => out(printable`${context}: ${title} ${action}\n`),
  });
  if (flags.wait) await settle(options, flags.timeout, terminal);
  return EXIT.well;
}

/** Waits until agents and controllers are ready, and controllers read each other's registries from their pods. */
async function settle(
  { members }: JoinOptions,
  timeout: number,
  { signal, out }: Terminal,
): Promise<void> {
  const ids = members.map(({ id }) => id);
  await Promise.all(
    members.map(async ({ on }) => {
      for (const workload of WORKLOADS) {
        await untilRolledOut(on, workload, timeout, signal);
        out(printable`${on.context}: ${workload.name} is ready\n`);
      }
    }),
  );
  await Promise.all(
    members.map(async ({ on, id }) => {
      const others = ids.filter((one) => one !== id);
      await untilControllersSee(on, others, timeout, signal);
      if (others.length > 0)
        out(printable`${on.context}: its controller reads ${others.join(", ")}\n`);
    }),
  );
}

/** What a join does to each object of a cluster. */
function linesOf(plan: ContextPlan): PlanLine[] {
  const { context } = plan.on;
  const lines = plannedOf(plan).map(
    ({ object, action, detail }): PlanLine => ({
      ...{ context, action, object: titleOf(object) },
      ...(detail !== undefined && { detail }),
    }),
  );
  if (plan.names === undefined) return lines;
  const { action } = plan.names;
  const detail =
    action === "kept"
      ? "no CoreDNS there: add the block of deploy/coredns/names to your DNS server"
      : "a block for clusterset.local";
  return [...lines, { context, action, object: titleOf(NAMES_OBJECT), detail }];
}

/** All objects by context, for GitOps. Their order is that of a join. */
function printManifests(plans: readonly ContextPlan[], { out, note }: Terminal): ExitCode {
  for (const { on, objects, handovers, identity, names } of plans) {
    out(printable`# Context ${on.context}\n`);
    for (const { object } of [...objects, ...identity])
      out(printable`---\n${documentText(object, "yaml")}`);
    for (const [{ secret }] of handovers)
      out(
        printable`# ${titleOf(secret)}: not printed, because it has a token. Run join to create it.\n`,
      );
    if (names?.action === "changed")
      out(
        printable`# ${titleOf(NAMES_OBJECT)}: run join, or add the block of deploy/coredns/names.\n`,
      );
    out(printable`---\n`);
  }
  note(
    printable`Secrets with tokens are not printed: run join without -o, with --skip-manifests.\n`,
  );
  return EXIT.well;
}

/** Says what follows if something is not reached, or not known. */
const ADVICE =
  "Nothing was joined. Correct this, or join without this check: --skip-reachability. Another address of an API server: --api-server CONTEXT=URL, or --hub-server URL.";

/**
 * Prints who reaches whom, by short-lived pods of the clusters between which a join changes something. False if something that has to
 * reach another does not, or if that cannot be found out, which is then said.
 */
async function isReachable(
  plans: readonly ContextPlan[],
  options: JoinOptions,
  timeout: number,
  terminal: Terminal,
): Promise<boolean> {
  const { out, note, signal, timeOfDay } = terminal;
  const { members, hub } = options;
  const probes = await probesOf(plans, options);
  if (probes.length === 0) return true;
  const nameless = probes.filter(({ image }) => image === "");
  for (const { on } of nameless)
    note(
      printable`error: ${on.context}: no image for a pod that checks what it reaches: give --controller-image.\n`,
    );
  if (nameless.length > 0) return false;
  note(printable`checks what pods of the clusters reach, with a short-lived pod in each\n`);
  const warn = (sentence: string) => note(printable`warning: ${sentence}\n`);
  const found = await runProbes(probes, { timeout, signal, timeOfDay: timeOfDay(), warn });
  if (found.reached.length > 0) out(printable`\n${reachTable(found.reached, terminal)}`);
  for (const { context, id, endpointCidrs } of members) {
    const [outside] = outsideOf(endpointCidrs, found.addresses.get(id) ?? []);
    if (outside !== undefined)
      warn(
        `${context}: a pod has the address ${outside}, outside ${endpointCidrs}: other clusters will reject endpoints there. Give --endpoint-cidrs ${context}=RANGES.`,
      );
  }
  for (const sentence of nodeWarnings(found.reached)) warn(sentence);
  const servers = new Map(members.map(({ id, server }) => [id, server]));
  if (hub !== undefined) servers.set(hub.on.context, hub.server);
  const faults = [...found.faults, ...reachFaults(found.reached, (to) => servers.get(to))];
  for (const fault of faults) note(printable`error: ${fault}\n`);
  if (faults.length > 0) note(printable`${ADVICE}\n`);
  return faults.length === 0;
}
