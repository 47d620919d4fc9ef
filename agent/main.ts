import { hostname } from "node:os";
import { systemClock } from "../common/clock.ts";
import { helpText } from "../common/config/help.ts";
import { isUsage, usageText } from "../common/config/usage.ts";
import { keepHeapSmall } from "../common/heap.ts";
import type { Logger } from "../common/log.ts";
import { standardErrorLog } from "../common/log-writer.ts";
import { logNodeWarnings } from "../common/node-warnings.ts";
import { printed } from "../common/standard-output.ts";
import { endWhenUncaught } from "../common/uncaught.ts";
import { versionText } from "../common/version.ts";
import { cleanup } from "./command/cleanup.ts";
import { load } from "./command/load.ts";
import { openSource } from "./command/open-source.ts";
import { plansOf, problemLines, renderText } from "./command/print.ts";
import { run } from "./command/run.ts";
import { type AgentConfig, parseConfig } from "./config/config.ts";
import { nodeFact, UNSEEN } from "./config/node-fact.ts";
import { AGENT } from "./config/program.ts";
import type { NodeFact } from "./model/facts.ts";
import { planDocument } from "./observe/plan-document.ts";
import { interfaceAddresses } from "./system/addresses.ts";

/** Exit code of a wrong flag, as of most programs. */
const USAGE = 2;

keepHeapSmall();
// Whom could it be told that nobody reads it, or that there is no room for it?
process.stderr.on("error", () => undefined);
process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const terminal = process.stderr.isTTY === true;
  const config = parseConfig(argv, process.env, { name: hostname(), terminal });
  if (isUsage(config)) return refuse(usageText(config));
  if (config.command === "help") return print(helpText(AGENT));
  if (config.command === "version") return print(versionText(AGENT.name));
  const log = standardErrorLog({
    level: config.logLevel,
    format: config.logFormat,
    colour: terminal,
  });
  endWhenUncaught(log);
  logNodeWarnings(log);
  for (const warning of config.warnings) log.warn(warning);
  if (config.command === "cleanup") return attempt(log, () => cleanup(config, log));
  const apiServer = process.env.KUBERNETES_SERVICE_HOST;
  const reserved = apiServer === undefined ? [] : [apiServer];
  const first = nodeFact(config, reserved, { ...UNSEEN, addresses: interfaceAddresses() });
  if (isUsage(first)) return refuse(usageText(first));
  if (config.command !== "run") return attempt(log, () => show(config, reserved, log));
  return attempt(log, () => runUntilStopped(config, first, reserved, log));
}

/** `render` and `plan`: one look at the objects, and no effect. */
async function show(
  config: AgentConfig,
  reserved: readonly string[],
  log: Logger,
): Promise<number> {
  const open = await openSource(config, log);
  const loaded = await load(open, systemClock);
  process.stderr.write(problemLines(loaded));
  const sight = { ...loaded.sight, addresses: interfaceAddresses() };
  const node = nodeFact(config, [...reserved, ...open.addresses], sight);
  if (isUsage(node)) return refuse(usageText(node));
  const plans = plansOf(loaded, node);
  if (config.command === "render") return print(renderText(plans, config));
  return print([...planDocument(plans, config.output)].join(""));
}

/** SIGTERM is how the kubelet stops a pod, SIGINT how a person does; a second one is not waited out. */
async function runUntilStopped(
  config: AgentConfig,
  first: NodeFact,
  reserved: readonly string[],
  log: Logger,
): Promise<number> {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => stop.abort(signal));
  }
  await run(config, first, reserved, log, stop.signal);
  return 0;
}

/** The exit code of a command: its own, or 1 if it threw. */
async function attempt(log: Logger, command: () => Promise<number>): Promise<number> {
  try {
    return await command();
  } catch (error) {
    log.error("Cannot go on; the kernel keeps what it has.", { error });
    return 1;
  }
}

/** The exit code, once it is written. */
function print(text: string): Promise<number> {
  return printed(AGENT.name, text);
}

function refuse(text: string): number {
  process.stderr.write(text);
  return USAGE;
}
