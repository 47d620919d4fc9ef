import { inspect } from "node:util";
import { CodedError } from "./errors.ts";
import type { Logger } from "./log.ts";

/** Exit code of a process that something ended which nobody foresaw. */
const FAILED = 1;

/**
 * Makes what is thrown and caught nowhere, a rejected promise included, one line of the log with the code CSP_UNCAUGHT,
 * and the end of the process. To go on would be to trust a state that nobody has thought of; whoever starts the process
 * again has it begin with what is really there.
 */
export function endWhenUncaught(log: Logger): void {
  process.on("uncaughtException", (thrown: unknown, origin) => {
    const known = thrown instanceof Error;
    // A value without a prototype has no text of its own.
    const message = `${origin}: ${known ? thrown.message : inspect(thrown)}`;
    const error = new CodedError("CSP_UNCAUGHT", message, known ? { cause: thrown } : {});
    log.error("A fault of our own ends this process; the kernel keeps what it has.", { error });
    process.exit(FAILED);
  });
}
