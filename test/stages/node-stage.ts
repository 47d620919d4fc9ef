import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { BACKEND } from "../backends.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import { AGENT, AgentProcess, eventually, LabNode } from "./agent-process.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
const WEB = importObject("shop/web", ["241.0.1.7"], [HTTP]);

/** Milliseconds to wait: several stages run at the same time, on busy machines. */
const PATIENCE = 30_000;

/** One line of the agent's log. */
export interface LogEntry {
  readonly level: string;
  readonly msg: string;
  readonly reason?: string;
  readonly error?: { readonly code?: string; readonly message: string };
  readonly [field: string]: unknown;
}

/** Options of a `NodeStage`. */
export interface NodeOptions {
  /** The command that starts the agent, such as `env` or `unshare`, by the lab's directory. */
  readonly through?: (directory: string) => readonly string[];
  /** The directory of manifests; one of the lab's by default. */
  readonly manifests?: (directory: string) => string;
  /** The agent's; `BACKEND` if absent. */
  readonly backend?: TestedBackend;
  readonly flags?: (directory: string) => readonly string[];
}

/** One node with the real agent, one import `shop/web`, and an endpoint that the test changes. */
export class NodeStage extends LabNode {
  readonly agent: AgentProcess;
  readonly backend: TestedBackend;

  private constructor(lab: Lab, { through, manifests, backend = BACKEND, flags }: NodeOptions) {
    super(lab);
    this.backend = backend;
    this.manifests.write("import", WEB);
    this.change("10.1.0.11");
    const all = ["--cluster-id", "c1", "--region", "eu-west", ...backend.flags];
    const program = [...(through?.(lab.directory) ?? []), AGENT];
    const directory = manifests?.(lab.directory) ?? this.manifests.path;
    const more = flags?.(lab.directory) ?? [];
    this.agent = new AgentProcess(this.node, directory, [...all, ...more], program);
  }

  static async create(options: NodeOptions = {}): Promise<NodeStage> {
    return new NodeStage(await Lab.oneNode(), options);
  }

  /** Starts the agent, and waits for its first rules. */
  async start(): Promise<void> {
    await this.agent.start();
    await this.live("10.1.0.11");
    await eventually(async () => assert.match(await this.rules(), this.backend.complete), PATIENCE);
  }

  /** Writes the slice, with this endpoint only. */
  change(endpoint: string): void {
    this.manifests.write("slice", slice(endpoint));
  }

  /** All objects of ours, as the kernel has them. */
  async rules(): Promise<string> {
    return (await this.backend.own(this.node)).join("\n");
  }

  /** Waits until new connections are forwarded to this endpoint, for `patience` ms. */
  async live(endpoint: string, patience = PATIENCE): Promise<void> {
    await eventually(async () => {
      const takers = await this.backend.takers(this.node, "IPv4", "TCP");
      if (takers.includes(endpoint)) return;
      throw new Error(`${endpoint} is not live:\n${await this.rules()}\n${this.agent.log}`);
    }, patience);
  }

  /** The agent's log so far. Throws if a line of it is not whole. */
  get log(): LogEntry[] {
    return entries(this.agent.log);
  }

  /** Waits for a line of the log. */
  logged(is: (entry: LogEntry) => boolean): Promise<LogEntry> {
    return eventually(() => {
      const found = this.log.find(is);
      if (found === undefined) throw new Error(`no such line:\n${this.agent.log}`);
      return found;
    }, PATIENCE);
  }

  /** A path as the agent itself sees it, in its own mounts. */
  seen(path: string): string {
    return join(`/proc/${this.agent.pid}/root`, path);
  }

  /** Descriptors that the agent has open. */
  get descriptors(): number[] {
    return readdirSync(`/proc/${this.agent.pid}/fd`).map(Number);
  }

  /** Process ids of the agent's own children, by program. */
  get children(): Map<string, number> {
    const pid = this.agent.pid;
    const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    const pairs = pids.filter(Boolean).map((child): [string, number] => {
      // A child that has ended meanwhile has no name.
      const file = `/proc/${child}/cmdline`;
      const [program = ""] = existsSync(file) ? readFileSync(file, "utf8").split("\0") : [];
      return [program, Number(child)];
    });
    return new Map(pairs);
  }
}

/** The slice that makes this the only endpoint of the import. */
export function slice(endpoint: string): object {
  const origin = { cluster: "c1" };
  return sliceObject("web-c1", "shop/web", origin, [{ ...HTTP, port: 8080 }], [endpoint]);
}

/** The lines of a log. Throws if one is not whole. */
export function entries(text: string): LogEntry[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line): LogEntry => JSON.parse(line));
}
