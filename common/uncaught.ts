import { inspect } from "node:util";
import { CodedError } from "./errors.ts";
import type { Logger } from "./log.ts";

/** Exit code after an uncaught exception. */
const FAILED = 1;

/** Logs uncaught exceptions and rejections, then exits, because the state may be inconsistent. */
export function endWhenUncaught(log: Logger): void {
  process.on("uncaughtException", (thrown: unknown, origin) => {
    const known = thrown instanceof Error;
    // A value without a prototype has no text of its own.
    const message = `${origin}: ${known ? thrown.message : inspect(thrown)}`;
    const error = new CodedError("CSP_UNCAUGHT", message, known ? { cause: thrown } : {});
    log.error("Uncaught exception; exiting, kernel state is kept", { error });
    process.exit(FAILED);
  });
}
