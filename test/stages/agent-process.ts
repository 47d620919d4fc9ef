import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Exit, Process } from "../lab/process.ts";
import { startServer } from "../lab/programs.ts";
import { SLOWNESS } from "../lab/slowness.ts";

/** The agent of these sources. */
export const AGENT = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));

/** A directory of manifests, written as recommended: by renaming whole files into place. */
export class ManifestDirectory {
  readonly path: string;

  constructor(lab: Lab, name: string) {
    this.path = join(lab.directory, name);
    mkdirSync(this.path, { recursive: true });
  }

  /** Writes objects, as JSON, in one go. */
  write(file: string, ...objects: readonly object[]): void {
    const draft = join(this.path, `.${file}`);
    writeFileSync(draft, JSON.stringify({ kind: "List", apiVersion: "v1", items: objects }));
    renameSync(draft, join(this.path, `${file}.json`));
  }

  remove(file: string): void {
    rmSync(join(this.path, `${file}.json`));
  }
}

/** The source of an agent's objects: a directory of manifests, or an API server. */
export type ObjectsFrom = string | { readonly kubeconfig: string };

/** The real agent, as a process on a node of a lab. */
export class AgentProcess {
  readonly node: Namespace;
  readonly #argv: readonly string[];
  #process: Process | undefined;

  /** `flags` besides the objects; it answers on 127.0.0.1:10269 of its node. `program`: not from these sources. */
  constructor(
    node: Namespace,
    from: ObjectsFrom,
    flags: readonly string[],
    program: readonly string[] = [AGENT],
  ) {
    this.node = node;
    const objects =
      typeof from === "string" ? ["--manifests", from] : ["--kubeconfig", from.kubeconfig];
    this.#argv = [...program, ...objects, "--log-format", "json", ...flags];
  }

  /** Starts it and waits until rules are in sync. */
  async start(): Promise<void> {
    this.launch();
    await this.#programmed();
    await this.page("/readyz");
  }

  /** Starts it, and waits for nothing. */
  launch(): void {
    // In a session of its own, it has its share of the processors whatever else runs (sched_autogroup), as a pod with a request has.
    this.#process = this.node.spawn(["setsid", ...this.#argv]);
  }

  /** True once it was started, also after it has ended. */
  get started(): boolean {
    return this.#process !== undefined;
  }

  /** Its process id. Throws if it was not started. */
  get pid(): number {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error("the agent was not started");
    return pid;
  }

  /** Settles when it has ended. */
  get exited(): Promise<Exit> {
    if (this.#process === undefined) throw new Error("the agent was not started");
    return this.#process.exited;
  }

  /** Its log. */
  get log(): string {
    return this.#process?.errors ?? "";
  }

  /** A page once its status is 200. Throws after ten seconds, or more on a slow machine. */
  async page(path: string): Promise<string> {
    const url = `http://127.0.0.1:10269${path}`;
    for (let i = 0; i < 250; i++) {
      const { code, stdout } = await this.node.run(["curl", "-sf", "-m", "2", url]);
      if (code === 0) return stdout;
      await sleep(PAUSE);
    }
    throw new Error(`${path} does not answer 200:\n${this.log}`);
  }

  /** The sum of a metric over its labels. Throws if there is no such metric. */
  async metric(name: string): Promise<number> {
    const lines = (await this.page("/metrics")).split("\n");
    const values = lines.filter(
      (line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `),
    );
    if (values.length === 0) throw new Error(`no metric ${name}`);
    return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  /** Kernel objects that it has written and deleted since it was started. */
  async writes(): Promise<readonly [written: number, deleted: number]> {
    const count = (verb: string) => this.metric(`clusterset_agent_kernel_objects_${verb}_total`);
    return [await count("written"), await count("deleted")];
  }

  /**
   * Waits until the log shows it, the agent has ended, or its time is up. Each request for a page would start a program, which
   * delays a slow machine.
   */
  async #programmed(): Promise<void> {
    let isOver = false;
    const over = AbortSignal.timeout(10_000 * SLOWNESS);
    void this.exited.then(() => {
      isOver = true;
    });
    while (!isOver && !over.aborted && !this.log.includes("Programmed rules; in sync"))
      await sleep(25);
  }

  signal(name: NodeJS.Signals): void {
    this.#process?.signal(name);
  }

  async stop(): Promise<Exit> {
    if (this.#process === undefined) throw new Error("the agent was not started");
    return this.#process.stop();
  }

  /** Kills it with SIGKILL, as the kernel does when memory is short. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#process?.exited;
  }
}

/** Node n1 of cluster c1 in a lab, with pods, and a directory of manifests for its agents. */
export abstract class LabNode implements AsyncDisposable {
  readonly lab: Lab;
  readonly node: Namespace;
  readonly manifests: ManifestDirectory;

  constructor(lab: Lab) {
    this.lab = lab;
    this.node = lab.node("c1", "n1");
    this.manifests = new ManifestDirectory(lab, "manifests");
  }

  pod(name: string): Namespace {
    return this.lab.pod("c1", "n1", name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.remove();
  }
}

/** The only node of a lab, on which tests start agents. */
export class AgentNode extends LabNode {
  /** `pods`: their addresses, by name. */
  static async create(pods: Readonly<Record<string, readonly string[]>> = {}): Promise<AgentNode> {
    return new AgentNode(await Lab.oneNode(pods));
  }

  /** Starts a server in each of these pods, which answers with the pod's name. */
  async serve(...pods: readonly string[]): Promise<void> {
    await Promise.all(pods.map((pod) => startServer(this.pod(pod), "--name", pod)));
  }

  /** An agent that was not started yet. `program`: not from these sources. */
  agent(flags: readonly string[] = [], program?: readonly string[]): AgentProcess {
    const all = ["--cluster-id", "c1", ...flags];
    return new AgentProcess(this.node, this.manifests.path, all, program);
  }
}

/** Milliseconds between two checks. */
const PAUSE = 40 * SLOWNESS;

/**
 * Waits until `check` does not throw, for at most `patience` ms; then throws its error. The default is as long as a machine may take that
 * does much else: only a test that fails waits for it.
 */
export async function eventually<T>(
  check: () => Promise<T> | T,
  patience = 60_000 * SLOWNESS,
): Promise<T> {
  const end = Date.now() + patience;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(PAUSE);
    }
  }
}
