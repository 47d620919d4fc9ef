import { type Command, InvalidArgumentError } from "commander";
import { VERSION } from "../../common/version.ts";
import { type Content, writeBundle } from "../bundle/write-bundle.ts";
import { type ClusterFlags, withClusters } from "../clusters/contexts.ts";
import { withClusterFlags, withOutputFlag } from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { documentText, type Output, type Printable, printable } from "../output/printable.ts";
import { sentence, table } from "../output/table.ts";
import type { Terminal } from "../terminal.ts";

interface BundleFlags extends ClusterFlags {
  readonly file?: string;
  readonly mostAgents: number;
  /** False: none. */
  readonly logs: boolean;
  readonly logLines: number;
  readonly freeText?: boolean;
  readonly output: Output;
}

/** `bundle`: everything for a bug report, without secrets. */
export function addBundle(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withOutputFlag(withClusterFlags(program.command("bundle")))
    .summary("everything for a bug report, without secrets")
    .description(
      "Write an archive for a bug report: objects of clusterset-proxy, pages and logs of agents and controllers, of all contexts that are named.\n" +
        "Secrets and ConfigMaps are not read. Values of environment variables, free text of users and of other programs, and texts that look like tokens or keys, are left out; look at the archive before you send it.\n" +
        "Exit code 3: parts could not be read; the table of contents says which, and why.",
    )
    .option("-f, --file <file>", "default: clusterset-bundle-TIME.tar.gz in this directory")
    .option(
      "--most-agents <number>",
      "agents of a cluster, those first that are not ready",
      count,
      20,
    )
    .option("--log-lines <number>", "the last lines of each log", count, 5000)
    .option("--no-logs", "without logs")
    .option("--free-text", "annotations and labels of users and Events of other programs, too")
    .action(async (flags: BundleFlags) => end(await bundle(flags, terminal)));
}

async function bundle(flags: BundleFlags, terminal: Terminal): Promise<ExitCode> {
  const now = terminal.timeOfDay();
  const time = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const file = flags.file ?? `clusterset-bundle-${time}.tar.gz`;
  return withClusters(flags, terminal, async (clusters) => {
    const options = {
      mostAgents: flags.mostAgents,
      logLines: flags.logs ? flags.logLines : 0,
      withFreeText: flags.freeText === true,
      seconds: Math.floor(now / 1000),
      program: `kubectl-clusterset ${VERSION}, ${new Date(now).toISOString()}\n`,
    };
    const contents = await writeBundle(file, clusters, options, terminal.signal);
    if (flags.output !== "table") terminal.out(documentText({ file, contents }, flags.output));
    else {
      const end = `${file} is written. Look at it before you send it.`;
      terminal.out(contentsText(contents, terminal));
      terminal.out(printable`\n${sentence(end, terminal)}\n`);
    }
    return exitCode(contents);
  });
}

/** A log of a container that never ended before is missing everywhere, and no fault. */
function isMissing({ path, fault }: Content): boolean {
  return fault !== undefined && !path.endsWith(".previous.log");
}

function exitCode(contents: readonly Content[]): ExitCode {
  const [, ...ofClusters] = contents;
  if (ofClusters.every(isMissing)) return EXIT.failed;
  return contents.some(isMissing) ? EXIT.warning : EXIT.well;
}

function contentsText(contents: readonly Content[], terminal: Terminal): Printable {
  const rows = contents
    .filter((one) => one.fault === undefined || isMissing(one))
    .map(({ path, bytes, fault }) => [
      path,
      fault === undefined ? String(bytes) : { text: "-", style: "warning" as const },
      fault ?? "",
    ]);
  return table(["FILE", "BYTES", "MISSING BECAUSE"], rows, terminal);
}

function count(value: string): number {
  if (!/^[1-9]\d{0,5}$/.test(value)) throw new InvalidArgumentError("Expected a number from 1.");
  return Number(value);
}
