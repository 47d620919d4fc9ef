import { type Command, InvalidArgumentError } from "commander";
import { type Compared, carryOut, type Plan } from "../changes/carry-out.ts";
import { isLeft } from "../changes/one-change.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { titleOf } from "../install/change.ts";
import { joinChanges } from "../install/join.ts";
import { outsideOf } from "../install/ranges.ts";
import { documentText, printable } from "../output/printable.ts";
import { probesOf, runProbes } from "../reach/probe.ts";
import { nodeWarnings, reachFaults, reachTable } from "../reach/report.ts";
import type { Terminal } from "../terminal.ts";
import { withNamedClusters } from "./clusterset-flags.ts";
import { type ExaminedSet, examined } from "./join-examination.ts";
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

function join(contexts: readonly string[], flags: JoinFlags, whole: Terminal): Promise<ExitCode> {
  if (flags.skipManifests === true && flags.component !== undefined)
    throw new InvalidArgumentError("--component is of the manifests that --skip-manifests leaves.");
  const { output, ...changeFlags } = flags;
  const isPrinted = output !== undefined;
  return withNamedClusters(contexts, flags, whole, ({ members, hub, all }) =>
    carryOut(all, changeFlags, whole, async (terminal): Promise<Plan | ExitCode> => {
      const set = await examined(members, hub, flags, terminal);
      if (set === undefined) return EXIT.failed;
      return {
        changes: joinChanges({ ...set, wait: flags.wait }),
        question: printable`Are the ranges right, and continue?`,
        onConflict:
          "If a chart or a GitOps tool applies them, leave them to it with --skip-manifests; else change them there, or take them over with --force-conflicts.",
        ...(isPrinted && { print: (compared) => printManifests(compared, terminal) }),
        ...(!flags.skipReachability && {
          check: (compared) => isReachable(compared, set, flags.timeout, terminal),
        }),
      };
    }),
  );
}

/** All objects by context, for GitOps. Their order is that of a join. */
function printManifests(compared: readonly Compared[], { out, note }: Terminal): void {
  for (const on of new Set(compared.map(({ change }) => change.on))) {
    out(printable`# Context ${on}\n`);
    const own = compared.filter(({ change }) => change.on === on);
    for (const { change, lines } of own) {
      for (const { object, action } of lines) {
        if (change.act === "put") out(printable`---\n${documentText(object, "yaml")}`);
        else if (change.act === "hand-over")
          out(
            printable`# ${titleOf(object)}: not printed, because it has a token. Run join to create it.\n`,
          );
        else if (change.act === "names" && action === "changed")
          out(printable`# ${titleOf(object)}: run join, or deploy/coredns/names ${change.verb}.\n`);
      }
    }
    out(printable`---\n`);
  }
  note(
    printable`Secrets with tokens are not printed: run join without -o, with --skip-manifests.\n`,
  );
}

/** Says what follows if something is not reached, or not known. */
const ADVICE =
  "Nothing was joined. Correct this, or join without this check: --skip-reachability. Another address of an API server: --api-server CONTEXT=URL, or --hub-server URL.";

/**
 * Prints who reaches whom, by short-lived pods of the clusters between which a join changes something. False if something that has to
 * reach another does not, or if that cannot be found out, which is then said.
 */
async function isReachable(
  compared: readonly Compared[],
  set: ExaminedSet,
  timeout: number,
  terminal: Terminal,
): Promise<boolean> {
  const { out, note, signal, timeOfDay } = terminal;
  const { members, hub } = set;
  const given = compared.flatMap(({ change, lines }) =>
    change.act === "hand-over" && lines.some(isLeft) ? [change.handover] : [],
  );
  const objects = compared.flatMap(({ change, lines }) =>
    change.act === "put" ? lines.map(({ object }) => ({ on: change.on, object })) : [],
  );
  const probes = await probesOf(given, objects, set);
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
  if (hub !== undefined) servers.set(hub.context, hub.server);
  const faults = [...found.faults, ...reachFaults(found.reached, (to) => servers.get(to))];
  for (const fault of faults) note(printable`error: ${fault}\n`);
  if (faults.length > 0) note(printable`${ADVICE}\n`);
  return faults.length === 0;
}
