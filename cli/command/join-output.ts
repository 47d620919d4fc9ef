import { type ContextPlan, NAMES_OBJECT, plannedOf } from "../clusters/join-plan.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { titleOf } from "../install/install-object.ts";
import { documentText } from "../output/document.ts";
import type { PlanLine } from "../output/plan-text.ts";
import { printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";

/** What a join does to each object of a cluster. */
export function linesOf(plan: ContextPlan): PlanLine[] {
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
export function printManifests(plans: readonly ContextPlan[], { out, note }: Terminal): ExitCode {
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
