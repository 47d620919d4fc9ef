import { hostname } from "node:os";
import { helpText } from "../common/config/help.ts";
import { isUsage, usageText } from "../common/config/usage.ts";
import { keepHeapSmall } from "../common/heap.ts";
import { standardErrorLog } from "../common/log-writer.ts";
import { logNodeWarnings } from "../common/node-warnings.ts";
import { printed } from "../common/standard-output.ts";
import { endWhenUncaught } from "../common/uncaught.ts";
import { versionText } from "../common/version.ts";
import { run } from "./command/run.ts";
import { parseConfig } from "./config/config.ts";
import { CONTROLLER } from "./config/program.ts";

/** Exit code of a wrong flag, as of most programs. */
const USAGE = 2;

keepHeapSmall();
// Whom could it be told that nobody reads it, or that there is no room for it?
process.stderr.on("error", () => undefined);
process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const terminal = process.stderr.isTTY === true;
  const config = parseConfig(argv, process.env, { name: hostname(), terminal });
  if (isUsage(config)) {
    process.stderr.write(usageText(config));
    return USAGE;
  }
  const { command, logLevel: level, logFormat: format } = config;
  if (command === "help") return printed(CONTROLLER.name, helpText(CONTROLLER));
  if (command === "version") return printed(CONTROLLER.name, versionText(CONTROLLER.name));
  const log = standardErrorLog({ level, format, colour: terminal });
  endWhenUncaught(log);
  logNodeWarnings(log);
  for (const warning of config.warnings) log.warn(warning);
  const stop = new AbortController();
  // SIGTERM is how the kubelet stops a pod, SIGINT how a person does; a second one is not waited out.
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => stop.abort(signal));
  }
  try {
    await run(config, log, stop.signal);
    return 0;
  } catch (error) {
    log.error("Cannot go on; everything that was written stays.", { error });
    return 1;
  }
}
