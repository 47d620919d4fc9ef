import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { type Step, stepsOf } from "../e2e/guide.ts";
import { isAsShown } from "../e2e/shown.ts";
import { kubernetesCommand } from "./commands.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Longer than any block takes. */
const BLOCK_MS = 90_000;
/** Longer than it takes until what a guide shows is seen. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 300;

export interface GuideShellOptions {
  readonly kubeconfig: string;
  /** A command that the shell is started by, such as `ip netns exec`. */
  readonly through?: readonly string[];
  /** Puts what is so here in the place of a guide's examples. */
  readonly adapt?: (commands: string) => string;
}

/**
 * A user who follows guides on API servers of tests: pastes blocks, and compares what they print. Functions of a guide are
 * known in its later blocks. A block with an output is repeated until its output matches.
 */
export class GuideShell {
  readonly #options: GuideShellOptions;
  readonly #followed = new Map<string, string[]>();
  /** Blocks of a guide that define functions. */
  readonly #functions = new Map<string, string>();

  constructor(options: GuideShellOptions) {
    this.#options = options;
  }

  /** Runs the blocks below a heading. Throws if a command fails, or if the output differs from the guide's. */
  async follow(guide: string, heading: string): Promise<void> {
    for (const step of stepsOf(guide, heading)) {
      if (step.shown === undefined) await this.#once(guide, step);
      else await this.#untilShown(guide, step, step.shown);
      this.#followed.set(guide, [...(this.#followed.get(guide) ?? []), step.commands]);
      const [found = ""] = /^\w+\(\) \{.*?^\}$/ms.exec(step.commands) ?? [];
      if (found !== "") this.#functions.set(guide, `${this.#functions.get(guide) ?? ""}${found}\n`);
    }
  }

  /** Blocks of a guide that were not followed. */
  left(guide: string): string[] {
    const followed = this.#followed.get(guide) ?? [];
    return stepsOf(guide).flatMap(({ commands }) => (followed.includes(commands) ? [] : commands));
  }

  async #once(guide: string, { commands }: Step): Promise<void> {
    const { status, output } = await this.#run(guide, commands);
    if (status !== 0) throw new Error(`${guide}: exit code ${status}\n${commands}\n${output}`);
  }

  async #untilShown(guide: string, { commands }: Step, example: string): Promise<void> {
    const shown = this.#options.adapt?.(example) ?? example;
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      // An exit code may be part of what is shown: 3 says that something needs attention.
      const { output } = await this.#run(guide, commands);
      if (isAsShown(shown, output)) return;
      if (performance.now() > end) {
        throw new Error(`${guide}\n${commands}\nshows\n${shown}\nand this is seen:\n${output}`);
      }
      await sleep(PAUSE_MS);
    }
  }

  /** Does not block this process: connections of a test go on meanwhile. */
  async #run(guide: string, commands: string): Promise<{ status: number | null; output: string }> {
    const { adapt, kubeconfig, through = [] } = this.#options;
    const script = `exec 2>&1\n${this.#functions.get(guide) ?? ""}${commands}`;
    const bash = ["bash", "-e", "-u", "-o", "pipefail", "-c", adapt?.(script) ?? script];
    const [command = "", ...argv] = [...through, ...bash];
    const PATH = `${dirname(kubernetesCommand("kubectl"))}:${ROOT}/bin:${process.env.PATH}`;
    const env = {
      ...process.env,
      PATH,
      KUBECONFIG: kubeconfig,
      KUBECACHEDIR: `${kubeconfig}-cache`,
    };
    const shell = spawn(command, argv, {
      cwd: ROOT,
      env,
      stdio: ["ignore", "pipe", "inherit"],
      timeout: BLOCK_MS,
    });
    const [output] = await Promise.all([text(shell.stdout), once(shell, "close")]);
    return { status: shell.exitCode, output };
  }
}
