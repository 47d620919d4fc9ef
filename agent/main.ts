import { systemClock } from "../common/clock.ts";
import { isUsage, type Usage } from "../common/config/usage.ts";
import type { Logger } from "../common/log.ts";
import { printed, stopSignal } from "../common/process.ts";
import { startProgram } from "../common/start-program.ts";
import { cleanup } from "./command/cleanup.ts";
import { openObjectSource } from "./command/object-source.ts";
import { plansOf, problemLines, renderText } from "./command/print.ts";
import { run } from "./command/run.ts";
import { takeSnapshot } from "./command/snapshot.ts";
import { AGENT, type AgentConfig, parseConfig } from "./config/config.ts";
import { NOT_OBSERVED, nodeFact } from "./config/node-fact.ts";
import { planDocument } from "./observe/plan-document.ts";
import { interfaceAddresses } from "./system/addresses.ts";

await startProgram(AGENT, parseConfig, execute, "Exiting after an error; rules stay in the kernel");

async function execute(config: AgentConfig, log: Logger): Promise<number | Usage> {
  if (config.command === "cleanup") return cleanup(config, log);
  const apiServer = process.env.KUBERNETES_SERVICE_HOST;
  const reserved = apiServer === undefined ? [] : [apiServer];
  const first = nodeFact(config, reserved, { ...NOT_OBSERVED, addresses: interfaceAddresses() });
  if (isUsage(first)) return first;
  if (config.command !== "run") return show(config, reserved, log);
  await run(config, first, reserved, log, stopSignal());
  return 0;
}

/** `render` and `plan`: read the objects once, and change nothing. */
async function show(
  config: AgentConfig,
  reserved: readonly string[],
  log: Logger,
): Promise<number | Usage> {
  const open = await openObjectSource(config, log);
  const snapshot = await takeSnapshot(open, config, systemClock);
  process.stderr.write(problemLines(snapshot));
  const observation = { ...snapshot.observation, addresses: interfaceAddresses() };
  const node = nodeFact(config, [...reserved, ...open.addresses], observation);
  if (isUsage(node)) return node;
  const plans = plansOf(snapshot, node);
  const text =
    config.command === "render"
      ? renderText(plans, config)
      : [...planDocument(plans, config.output)].join("");
  return printed(AGENT.name, text);
}
