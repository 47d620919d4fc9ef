import { startProgram } from "../common/start-program.ts";
import { stopSignal } from "../common/stop-signal.ts";
import { run } from "./command/run.ts";
import { parseConfig } from "./config/config.ts";
import { CONTROLLER } from "./config/program.ts";

await startProgram(
  CONTROLLER,
  parseConfig,
  async (config, log) => {
    await run(config, log, stopSignal());
    return 0;
  },
  "Cannot continue; everything written stays",
);
