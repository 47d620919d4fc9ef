import { standardErrorLog } from "../../../common/log-writer.ts";

/* Logs more than a pipe holds, and ends in the same turn. */

const log = standardErrorLog({ level: "info", format: "json" });
for (let line = 1; line <= 1500; line++) log.info("x".repeat(60), { line });
process.exit(3);
