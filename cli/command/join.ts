import { type Command, InvalidArgumentError } from "commander";
import { missingRights } from "../clusters/api-reviews.ts";
import {
  applyJoin,
  type ContextPlan,
  isDone,
  type JoinOptions,
  planJoin,
  plannedOf,
} from "../clusters/join-plan.ts";
import { untilRolledOut } from "../clusters/rollout.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { WORKLOADS } from "../install/workloads.ts";
import { planText } from "../output/plan-text.ts";
import { printable } from "../output/printable.ts";
import { untilControllersSee } from "../programs/controllers-see.ts";
import type { Terminal } from "../terminal.ts";
import { withNamedClusters } from "./clusterset-flags.ts";
import { isConfirmed } from "./confirm.ts";
import { examined } from "./join-examination.ts";
import { type JoinFlags, withJoinFlags } from "./join-flags.ts";
import { linesOf, printManifests } from "./join-output.ts";
import { isReachable } from "./reachability.ts";

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
