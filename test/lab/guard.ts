import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { removeRun } from "./removal.ts";
import type { Run } from "./run.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Read by the watchdog: the run has been removed in good order. */
const DISMISSED = "dismissed";

/**
 * Sees to it that a run ends with its owner. A signal removes it at once. Everything else (an exception, a
 * `kill -9`) is left to a watchdog: a shell that reads from a pipe which only the owner holds, and removes
 * the run when the pipe closes. A shell, because it waits in 1 MB where Node needs 45.
 */
export class Guard {
  readonly #run: Run;
  #watchdog: ChildProcess | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  start(): void {
    const script = `read -r line; [ "$line" = ${DISMISSED} ] || exec "$@"`;
    const sweep = [process.execPath, `${import.meta.dirname}/sweep.ts`, this.#run.id];
    // Detached: a Ctrl-C reaches the whole process group of a terminal, and must not reach the watchdog.
    const watchdog = spawn("sh", ["-c", script, "watchdog", ...sweep], {
      detached: true,
      stdio: ["pipe", "ignore", "inherit"],
    });
    watchdog.stdin?.on("error", () => undefined); // It has ended already, and is not needed any more.
    watchdog.unref();
    this.#watchdog = watchdog;
    for (const name of SIGNALS) process.on(name, this.#onSignal);
  }

  /** The run has been removed. */
  stop(): void {
    for (const name of SIGNALS) process.off(name, this.#onSignal);
    this.#watchdog?.stdin?.end(`${DISMISSED}\n`);
    this.#watchdog = undefined;
  }

  readonly #onSignal = (name: NodeJS.Signals): void => {
    removeRun(this.#run)
      .catch((error: unknown) => console.error(error))
      // As a shell reports a program that a signal ended.
      .finally(() => process.exit(128 + constants.signals[name]));
  };
}
