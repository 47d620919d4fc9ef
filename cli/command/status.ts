import { type Command, InvalidArgumentError, Option } from "commander";
import { isLabelName } from "../../api/names.ts";
import { sleep, systemClock } from "../../common/clock.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type ClusterFlags, withClusters } from "../clusters/contexts.ts";
import { withClusterFlags, withOutputFlag } from "../command-line.ts";
import { EXIT, type ExitCode, exitCodeOf } from "../exit-code.ts";
import { documentText, type Output, printable } from "../output/printable.ts";
import { readStatus } from "../programs/read-status.ts";
import type { Terminal } from "../terminal.ts";
import { type ContextStatus, contextStatus, severitiesOf } from "../view/status.ts";
import { changedLines, statusLines, statusTables } from "../view/status-table.ts";

interface StatusFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly agents: boolean;
  readonly mostAgents: number;
  readonly watch?: boolean;
  readonly output: Output;
}

/** Milliseconds from the end of one reading to the next. */
const PAUSE_MS = 2000;

/** `status`: the clusterset, as the clusters of the contexts see it. */
export function addStatus(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withOutputFlag(withClusterFlags(program.command("status")))
    .summary("how the clusterset is")
    .description(
      "Print how the clusters see each other, how their agents are, and which imports and exports have problems.\n" +
        "Exit code 3: something needs attention; 4: connections are rejected, or an agent does not work.",
    )
    .option("-n, --namespace <name>", "imports and exports of this namespace only", label)
    .option("-A, --all-namespaces", "of all namespaces (default)")
    .option("--no-agents", "without the agents' pages: only what Kubernetes says of their pods")
    .addOption(mostAgentsOption())
    .option("-w, --watch", "print what changes, until Ctrl-C")
    .action(async (flags: StatusFlags) => end(await status(flags, terminal)));
}

/** `--most-agents`. */
export function mostAgentsOption(): Option {
  return new Option("--most-agents <number>", "agents of a cluster whose pages are read")
    .argParser(count)
    .default(100);
}

async function status(flags: StatusFlags, terminal: Terminal): Promise<ExitCode> {
  return withClusters(flags, terminal, async (clusters) => {
    let all = await statusOf(clusters, flags, terminal.signal);
    print(all, flags, terminal);
    while (flags.watch === true) {
      await sleep(systemClock, PAUSE_MS, terminal.signal);
      if (terminal.signal.aborted) break;
      const next = await statusOf(clusters, flags, terminal.signal).catch((thrown: unknown) => {
        if (!terminal.signal.aborted) throw thrown;
      });
      if (next === undefined) break;
      const changes = changedLines(statusLines(all), statusLines(next));
      all = next;
      if (changes.length === 0) continue;
      if (flags.output !== "table") print(all, flags, terminal);
      else
        for (const line of changes)
          terminal.out(printable`${timeText(terminal.timeOfDay())} ${line}\n`);
    }
    const isUnknown = all.every(
      ({ unread, clusters: seen }) => unread.length > 0 && seen.length === 0,
    );
    return isUnknown || all.some(({ unknown }) => unknown !== undefined)
      ? EXIT.failed
      : exitCodeOf(all.flatMap(severitiesOf));
  });
}

function statusOf(
  clusters: readonly Cluster[],
  { namespace, agents, mostAgents }: StatusFlags,
  signal: AbortSignal,
): Promise<ContextStatus[]> {
  const options = {
    mostAgents: agents ? mostAgents : 0,
    ...(namespace !== undefined && { namespace }),
  };
  return Promise.all(
    clusters.map(async (cluster) => contextStatus(await readStatus(cluster, options, signal))),
  );
}

function print(all: readonly ContextStatus[], { output }: StatusFlags, terminal: Terminal): void {
  terminal.out(
    output === "table" ? statusTables(all, terminal) : documentText({ contexts: all }, output),
  );
}

/** `12:30:05`, in UTC as all times of this program. */
function timeText(time: number): string {
  return new Date(time).toISOString().slice(11, 19);
}

function label(value: string): string {
  if (!isLabelName(value)) throw new InvalidArgumentError("Expected the name of a namespace.");
  return value;
}

function count(value: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value)) throw new InvalidArgumentError("Expected a number from 1.");
  return Number(value);
}
