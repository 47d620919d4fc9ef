import { hostname } from "node:os";
import type { Environment } from "./config/command-line.ts";
import type { AnyProgram, Host } from "./config/flag.ts";
import { helpText } from "./config/help.ts";
import { isUsage, type Usage, usageText } from "./config/usage.ts";
import type { LogFormat, Logger, LogLevel } from "./log.ts";
import { standardErrorLog } from "./log-writer.ts";
import {
  endWhenUncaught,
  keepHeapSmall,
  logNodeWarnings,
  nameProcess,
  printed,
} from "./process.ts";
import { versionText } from "./version.ts";

/** Exit code of a usage error. */
const USAGE = 2;

/** The parts of a configuration that all programs have. */
interface Config {
  readonly command: string;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly warnings: readonly string[];
}

/**
 * Parses the command line and runs the command; sets the exit code. `execute`: runs any command but help and version, and
 * returns the exit code or a usage error. If it rejects, `failed` is logged, and the exit code is 1.
 */
export async function startProgram<C extends Config>(
  program: AnyProgram,
  parse: (argv: readonly string[], env: Environment, host: Host) => C | Usage,
  execute: (config: C, log: Logger) => Promise<number | Usage>,
  failed: string,
): Promise<void> {
  keepHeapSmall();
  nameProcess(program.name);
  // A failed write to stderr cannot be reported.
  process.stderr.on("error", () => undefined);
  const colour = process.stderr.isTTY === true;
  const config = parse(process.argv.slice(2), process.env, { name: hostname(), terminal: colour });
  const result = isUsage(config) ? config : await run(config);
  if (typeof result !== "number") process.stderr.write(usageText(result));
  process.exitCode = typeof result === "number" ? result : USAGE;

  async function run(valid: C): Promise<number | Usage> {
    const { command, logLevel: level, logFormat: format, warnings } = valid;
    if (command === "help") return printed(program.name, helpText(program));
    if (command === "version") return printed(program.name, versionText(program.name));
    const log = standardErrorLog({ level, format, colour });
    endWhenUncaught(log);
    logNodeWarnings(log);
    for (const warning of warnings) log.warn(warning);
    try {
      return await execute(valid, log);
    } catch (error) {
      log.error(failed, { error });
      return 1;
    }
  }
}
