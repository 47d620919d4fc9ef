import type { ContextPlan, JoinOptions } from "../clusters/join-plan.ts";
import { outsideOf } from "../install/ranges.ts";
import { printable } from "../output/printable.ts";
import { runProbes } from "../reach/probe.ts";
import { probesOf } from "../reach/probes-of.ts";
import { nodeWarnings, reachFaults, reachTable } from "../reach/report.ts";
import type { Terminal } from "../terminal.ts";

/** Says what follows if something is not reached, or not known. */
const ADVICE =
  "Nothing was joined. Correct this, or join without this check: --skip-reachability. Another address of an API server: --api-server CONTEXT=URL, or --hub-server URL.";

/**
 * Prints who reaches whom, by short-lived pods of the clusters between which a join changes something. False if something that has to
 * reach another does not, or if that cannot be found out, which is then said.
 */
export async function isReachable(
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
