import { availableParallelism } from "node:os";
import { Process } from "../lab/process.ts";

/** The kernel kills a process with the one that began it. */
const WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"];

/** Longer than any power cut takes to be noticed. */
const AT_MOST_MS = 120_000;

/** Prints a line, and keeps one processor busy for a limited time. */
const SPIN = `console.log("busy"); for (const end = Date.now() + ${AT_MOST_MS}; Date.now() < end; );`;

/** Other work of the machine: one process for each processor that computes until this is disposed of. */
export class BusyProcessors implements AsyncDisposable {
  readonly #processes: readonly Process[];

  private constructor(processes: readonly Process[]) {
    this.#processes = processes;
  }

  /** Returns when all processes compute. */
  static async start(): Promise<BusyProcessors> {
    const argv = [...WITH_PARENT, process.execPath, "--eval", SPIN];
    const processes = Array.from({ length: availableParallelism() }, () => new Process(argv));
    const busy = new BusyProcessors(processes);
    try {
      await Promise.all(processes.map((one) => one.line(/busy/)));
    } catch (error) {
      await busy[Symbol.asyncDispose]();
      throw error;
    }
    return busy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#processes) one.signal("SIGKILL");
    await Promise.all(this.#processes.map(({ exited }) => exited));
  }
}
