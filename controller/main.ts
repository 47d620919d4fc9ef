import { stopSignal } from "../common/process.ts";
import { startProgram } from "../common/start-program.ts";
import { run } from "./command/run.ts";
import { CONTROLLER, parseConfig } from "./config/config.ts";

await startProgram(
  CONTROLLER,
  parseConfig,
  async (config, log) => {
    await run(config, log, stopSignal());
    return 0;
  },
  "Cannot continue; everything written stays",
);
