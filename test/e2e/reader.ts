import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { kubernetesCommand } from "../apiserver/commands.ts";
import type { ClusterNode } from "../cluster/cluster-node.ts";
import { headingsWithCommands, isAsShown, type Step, stepsOf } from "./guide.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** Longer than anything in a guide takes on a machine that does other things, too. */
const PATIENCE_MS = 300_000;

/** How long it may take until what is shown is seen: all that a guide has done before has its effect by then. */
const UNTIL_SHOWN_MS = 60_000;

const PAUSE_MS = 200;

/** Between what two blocks have printed; no guide prints it. */
const END_OF_BLOCK = "-- end of block --";

/** Where the clusters of a user are: of these tests, or API servers alone. */
export interface Desk {
  /** The path of a kubeconfig. */
  readonly kubeconfig: string;
}

/**
 * Runs commands as a user would paste them into a shell, in the top folder of the repository. Stops at the first command that fails,
 * and then throws with all output. Returns the output.
 */
export async function paste(desk: Desk, commands: string): Promise<string> {
  const shell = spawn("bash", ["-e", "-u", "-o", "pipefail"], {
    ...environmentOf(desk),
    timeout: PATIENCE_MS,
  });
  shell.stdin.end(commands);
  const [out, errors] = await Promise.all([
    text(shell.stdout),
    text(shell.stderr),
    once(shell, "close"),
  ]);
  if (shell.exitCode !== 0) throw new Error(`exit code ${shell.exitCode}\n${out}\n${errors}`);
  return out;
}

/** The folder of kubectl, once it was built. */
let commands: string | undefined;

/** kubectl and its plugin are in the path. */
function environmentOf({ kubeconfig }: Desk): { cwd: string; env: NodeJS.ProcessEnv } {
  commands ??= dirname(kubernetesCommand("kubectl"));
  const env = {
    ...process.env,
    // A login shell has it, a container's does not.
    USER: process.env.USER ?? "root",
    KUBECONFIG: kubeconfig,
    KUBECACHEDIR: `${dirname(kubeconfig)}/kubectl-cache`,
    PATH: `${commands}:${ROOT}/bin:${process.env.PATH}`,
  };
  return { cwd: ROOT, env };
}

export interface ReaderOptions {
  /** The node on which "the node" is looked at. */
  readonly node?: ClusterNode;
  /** Puts what is so here in the place of what a guide can only give an example of. */
  readonly adapt?: (commands: string) => string;
}

/**
 * A user who follows a guide: pastes its blocks into one shell, from top to bottom, and compares the output with the guide's. A
 * block with an output is repeated until its output matches, because a user is slower than a test; so such blocks only read.
 */
export class Reader implements AsyncDisposable {
  readonly #guide: string;
  readonly #options: ReaderOptions;
  readonly #shell: ChildProcessByStdio<Writable, Readable, null>;
  readonly #left: Set<string>;
  #said = "";

  constructor(desk: Desk, guide: string, options: ReaderOptions = {}) {
    this.#guide = guide;
    this.#options = options;
    this.#left = new Set(stepsOf(guide).map(({ commands }) => commands));
    const args = ["-c", "exec bash -e -u -o pipefail 2>&1"];
    this.#shell = spawn("sh", args, { ...environmentOf(desk), stdio: ["pipe", "pipe", "inherit"] });
    // A failed command has ended the shell: later blocks are reported below.
    this.#shell.stdin.on("error", () => undefined);
    this.#shell.stdout.setEncoding("utf8").on("data", (part: string) => {
      this.#said += part;
    });
  }

  /** Runs the blocks below a heading; returns the output. Throws if a command fails, or if the output differs from the guide's. */
  async follow(heading: string): Promise<string> {
    const said: string[] = [];
    for (const step of stepsOf(this.#guide, heading)) {
      said.push(step.shown === undefined ? await this.#once(step) : await this.#untilShown(step));
      this.#left.delete(step.commands);
    }
    return said.join("");
  }

  /** The same for all headings of a section, in their order. */
  async followSection(section: string): Promise<void> {
    for (const heading of headingsWithCommands(this.#guide, section)) await this.follow(heading);
  }

  /** Pastes what is in no guide into the same shell. */
  async paste(commands: string): Promise<string> {
    return this.#once({ commands, place: "desk" });
  }

  /** Blocks of the guide that were not followed. */
  get left(): readonly string[] {
    return [...this.#left];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#shell.exitCode !== null) return;
    this.#shell.stdin.end();
    this.#shell.kill();
    await once(this.#shell, "close");
  }

  async #once({ commands, place }: Step): Promise<string> {
    const adapted = this.#adapted(commands);
    return place === "desk" ? this.#inShell(`{\n${adapted}\n}`) : this.#onNode(adapted);
  }

  async #untilShown({ commands, place, shown = "" }: Step): Promise<string> {
    const adapted = this.#adapted(commands);
    const end = performance.now() + UNTIL_SHOWN_MS;
    for (;;) {
      // Whether it succeeds is a part of what is shown: of a call that is refused, or a grep that finds nothing.
      const said = await (place === "desk"
        ? this.#inShell(`(\n${adapted}\n) || true`)
        : this.#onNode(`{\n${adapted}\n} 2>&1 || true`));
      if (isAsShown(shown, said)) return said;
      if (performance.now() > end) {
        throw new Error(`${this.#guide}\n${commands}\nshows\n${shown}\nand this is seen:\n${said}`);
      }
      await sleep(PAUSE_MS);
    }
  }

  #adapted(commands: string): string {
    const { adapt } = this.#options;
    return adapt === undefined ? commands : adapt(commands);
  }

  async #onNode(commands: string): Promise<string> {
    const { node } = this.#options;
    if (node === undefined) throw new Error(`${this.#guide}: on which node?\n${commands}`);
    const argv = ["bash", "-e", "-u", "-o", "pipefail", "-c", commands];
    return node.host.exec(argv, { timeout: PATIENCE_MS });
  }

  /** Functions and variables stay for what follows. A command that fails ends the shell. */
  async #inShell(commands: string): Promise<string> {
    this.#said = "";
    this.#shell.stdin.write(`${commands} </dev/null\necho "${END_OF_BLOCK}"\n`);
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      if (this.#said.endsWith(`${END_OF_BLOCK}\n`)) {
        return this.#said.slice(0, -END_OF_BLOCK.length - 1);
      }
      const { exitCode } = this.#shell;
      if (exitCode !== null) throw new Error(`exit code ${exitCode}\n${commands}\n${this.#said}`);
      if (performance.now() > end) throw new Error(`does not end:\n${commands}\n${this.#said}`);
      await sleep(20);
    }
  }
}
