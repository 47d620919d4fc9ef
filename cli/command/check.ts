import type { Command } from "commander";
import { type Finding, findingsOf, findingTables, unreadCluster } from "../check/findings.ts";
import { type PlacedCluster, placed, readChecked } from "../check/read-cluster.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type ClusterFlags, withClusters } from "../clusters/contexts.ts";
import { readHub } from "../clusters/read-facts.ts";
import { timeoutOption, withClusterFlags, withOutputFlag } from "../command-line.ts";
import { EXIT, type ExitCode, exitCodeOf } from "../exit-code.ts";
import type { HubFacts } from "../install/members.ts";
import { documentText, joined, type Output, printable } from "../output/printable.ts";
import { probesOf, runProbes } from "../reach/probe.ts";
import { type ProbeResults, reachFaults } from "../reach/report.ts";
import type { Terminal } from "../terminal.ts";
import { type ImageFlags, imagesOf, withImageFlags } from "./clusterset-flags.ts";
import { inEachCluster } from "./each-cluster.ts";
import { type MemberValueFlags, memberFlags, withMemberFlags } from "./member-flags.ts";
import { mostAgentsOption } from "./status.ts";

interface CheckFlags extends ClusterFlags, ImageFlags, MemberValueFlags {
  readonly hub?: string;
  readonly startPods?: boolean;
  /** Milliseconds. */
  readonly timeout: number;
  readonly mostAgents: number;
  readonly output: Output;
}

/** `check`: whether clusters can be members of a clusterset, or what is wrong with those that are. */
export function addCheck(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  const command = withOutputFlag(withClusterFlags(program.command("check")))
    .summary("whether clusters fit into a clusterset")
    .description(
      "Check clusters, before and after they join: each by itself, and each two of them. Prints what was checked, the result, and what to do. Changes nothing, unless --start-pods is given.\n" +
        "Exit code 3: something needs attention, or is not known; 4: a join would stop, or connections are rejected.",
    )
    .option("--hub <context>", "the hub, which holds the registries; default: a mesh");
  withImageFlags(withMemberFlags(command))
    .option(
      "--start-pods",
      "check what pods reach, too, with a short-lived pod in each cluster, as join does",
    )
    .addOption(timeoutOption("for these pods to start", "1m"))
    .addOption(mostAgentsOption())
    .action(async (flags: CheckFlags) => end(await check(flags, terminal)));
}

function check(flags: CheckFlags, terminal: Terminal): Promise<ExitCode> {
  return withHub(flags, terminal, (hub) =>
    withClusters(flags, terminal, async (all) => {
      const { signal } = terminal;
      const options = { mostAgents: flags.mostAgents, withRights: true };
      // A hub is no member, also with --all-contexts.
      const clusters = all.filter(({ context }) => context !== flags.hub);
      const [{ results, failed }, hubs] = await Promise.all([
        inEachCluster(clusters, terminal, (on) => readChecked(on, options, signal)),
        inEachCluster(hub, terminal, async (on) => ({ on, facts: await readHub(on) })),
      ]);
      const given = memberFlags(flags);
      const [onHub] = hubs.results;
      const checked = placed(results, given, onHub?.facts);
      const probes =
        flags.startPods === true ? await probed(checked, onHub, flags, terminal) : undefined;
      const findings = [
        ...failed.map(({ on, why }) => unreadCluster(on.context, why)),
        ...findingsOf({
          ...{ clusters: checked, hub: onHub?.facts, flags: given },
          clustersetCidrs: flags.clustersetCidr,
          ...(probes !== undefined && { probes }),
        }),
      ];
      print(findings, flags.output, terminal);
      const isIncomplete = failed.length > 0 || hubs.failed.length > 0;
      return isIncomplete ? EXIT.failed : exitCodeOf(findings.map(({ severity }) => severity));
    }),
  );
}

/** Opens the hub, if the flags name one. */
function withHub(
  { hub, allContexts: _all, context: _named, ...flags }: CheckFlags,
  terminal: Terminal,
  run: (hub: readonly Cluster[]) => Promise<ExitCode>,
): Promise<ExitCode> {
  return hub === undefined ? run([]) : withClusters({ ...flags, contexts: [hub] }, terminal, run);
}

/** What pods of each cluster reach: pods of the others, and API servers. Notes what could not be found out. */
async function probed(
  checked: readonly PlacedCluster[],
  hub: { readonly on: Cluster; readonly facts: HubFacts } | undefined,
  flags: CheckFlags,
  { note, signal, timeOfDay }: Terminal,
): Promise<ProbeResults> {
  const members = checked.flatMap(({ member, on }) =>
    member === undefined ? [] : [{ ...member, on }],
  );
  const images = imagesOf(flags);
  const address = hub && { context: hub.on.context, server: hub.on.address };
  const set = { members, images, ...(hub && address && { hub: { ...hub, ...address } }) };
  const probes = await probesOf("all", [], set);
  const warn = (sentence: string) => note(printable`warning: ${sentence}\n`);
  for (const { on, image } of probes)
    if (image === "") warn(`${on.context}: no image for a pod: give --controller-image.`);
  const withImage = probes.filter(({ image }) => image !== "");
  const run = { timeout: flags.timeout, signal, timeOfDay: timeOfDay(), warn };
  const found = await runProbes(withImage, run);
  const servers = new Map(address === undefined ? [] : [[address.context, address.server]]);
  const ofHub = reachFaults(
    found.reached.map(({ from, attempts }) => ({
      ...{ from, attempts: attempts.filter(({ to }) => servers.has(to)) },
    })),
    (to) => servers.get(to),
  );
  for (const sentence of [...found.faults, ...ofHub]) warn(sentence);
  return found;
}

function print(findings: readonly Finding[], output: Output, terminal: Terminal): void {
  terminal.out(
    output === "table"
      ? joined(findingTables(findings, terminal), printable`\n`)
      : documentText({ findings }, output),
  );
}
