import type { Command } from "commander";
import { type Finding, findingsOf, findingTables, unreadCluster } from "../check/findings.ts";
import { placed, readChecked } from "../check/read-cluster.ts";
import { type ClusterFlags, withClusters } from "../clusters/contexts.ts";
import { readHub } from "../clusters/read-facts.ts";
import { withClusterFlags, withOutputFlag } from "../command-line.ts";
import { EXIT, type ExitCode, exitCodeOf } from "../exit-code.ts";
import { documentText, joined, type Output, printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import { inEachCluster } from "./each-cluster.ts";
import { type MemberValueFlags, memberFlags, withMemberFlags } from "./member-flags.ts";
import { mostAgentsOption } from "./status.ts";

interface CheckFlags extends ClusterFlags, MemberValueFlags {
  readonly hub?: string;
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
      "Check clusters, before and after they join: each by itself, and each two of them. Prints what was checked, the result, and what to do. Changes nothing.\n" +
        "Exit code 3: something needs attention, or is not known; 4: a join would stop, or connections are rejected.",
    )
    .option("--hub <context>", "the hub, which holds the registries; default: a mesh");
  withMemberFlags(command)
    .addOption(mostAgentsOption())
    .action(async (flags: CheckFlags) => end(await check(flags, terminal)));
}

/** The clusters of the flags; the hub besides. */
async function check(flags: CheckFlags, terminal: Terminal): Promise<ExitCode> {
  return withClusters(flags, terminal, async (clusters) => {
    const { signal } = terminal;
    const options = { mostAgents: flags.mostAgents, withRights: true };
    const [{ results, failed }, hub] = await Promise.all([
      inEachCluster(clusters, terminal, (on) => readChecked(on, options, signal)),
      hubOf(flags, terminal),
    ]);
    const given = memberFlags(flags);
    const findings = [
      ...failed.map(({ on, why }) => unreadCluster(on.context, why)),
      ...findingsOf({
        ...{ clusters: placed(results, given, hub.facts), hub: hub.facts, flags: given },
        clustersetCidrs: flags.clustersetCidr,
      }),
    ];
    print(findings, flags.output, terminal);
    const isIncomplete = failed.length > 0 || hub.isUnread;
    return isIncomplete ? EXIT.failed : exitCodeOf(findings.map(({ severity }) => severity));
  });
}

async function hubOf(
  { hub, allContexts: _all, context: _named, ...flags }: CheckFlags,
  terminal: Terminal,
) {
  if (hub === undefined) return { facts: undefined, isUnread: false };
  return withClusters({ ...flags, contexts: [hub] }, terminal, async (clusters) => {
    const { results, failed } = await inEachCluster(clusters, terminal, readHub);
    return { facts: results[0], isUnread: failed.length > 0 };
  });
}

function print(findings: readonly Finding[], output: Output, terminal: Terminal): void {
  terminal.out(
    output === "table"
      ? joined(findingTables(findings, terminal), printable`\n`)
      : documentText({ findings }, output),
  );
}
