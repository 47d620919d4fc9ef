import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { AGENT, AgentProcess, eventually, ManifestDirectory } from "./agent-process.ts";
import { importObject, sliceObject } from "./objects.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
const WEB = importObject("shop/web", ["241.0.1.7"], [HTTP]);

/** Milliseconds to wait for what is to come: stages stand side by side, on machines that have other things to do. */
const PATIENCE = 30_000;

/** One line of the agent's log. */
export interface LogEntry {
  readonly level: string;
  readonly msg: string;
  readonly reason?: string;
  readonly error?: { readonly code?: string; readonly message: string };
  readonly [field: string]: unknown;
}

/** What a `FaultStage` differs in from a healthy node. */
export interface FaultOptions {
  /** What the agent is started through, such as `env` or `unshare`; it may need the lab's directory. */
  readonly through?: (directory: string) => readonly string[];
  /** The directory of manifests, if it is not to be one of the lab's. */
  readonly manifests?: (directory: string) => string;
  readonly flavour?: "auto" | "nft";
  readonly flags?: (directory: string) => readonly string[];
}

/** One node with the real agent, one import, and endpoints that come and go, for what a node may do to an agent. */
export class FaultStage implements AsyncDisposable {
  readonly lab: Lab;
  readonly manifests: ManifestDirectory;
  readonly agent: AgentProcess;

  private constructor(lab: Lab, { through, manifests, flavour = "nft", flags }: FaultOptions) {
    this.lab = lab;
    this.manifests = new ManifestDirectory(lab, "manifests");
    this.manifests.write("import", WEB);
    this.change("10.1.0.11");
    const all = ["--cluster-id", "c1", "--region", "eu-west", "--iptables-flavour", flavour];
    const program = [...(through?.(lab.directory) ?? []), AGENT];
    const directory = manifests?.(lab.directory) ?? this.manifests.path;
    const more = flags?.(lab.directory) ?? [];
    this.agent = new AgentProcess(this.node, directory, [...all, ...more], program);
  }

  static async create(options: FaultOptions = {}): Promise<FaultStage> {
    const lab = await Lab.create({
      clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }],
    });
    return new FaultStage(lab, options);
  }

  /** Has it started, and its first rules written. */
  async start(): Promise<void> {
    await this.agent.start();
    await this.live("10.1.0.11");
  }

  get node(): Namespace {
    return this.lab.node("c1", "n1");
  }

  /** Writes that this is the only endpoint. */
  change(endpoint: string): void {
    this.manifests.write("slice", slice(endpoint));
  }

  /** All rules of ours, as the kernel has them. */
  async rules(): Promise<string> {
    const lines = (await this.node.exec(["iptables-nft-save"])).split("\n");
    return lines.filter((line) => line.includes("CSP-")).join("\n");
  }

  /** Waits until connections are sent to this endpoint, for `patience` ms. */
  async live(endpoint: string, patience = PATIENCE): Promise<void> {
    await eventually(async () => {
      const rules = await this.rules();
      if (rules.includes(`--to-destination ${endpoint}:8080`)) return;
      throw new Error(`${endpoint} is not live:\n${rules}\n${this.agent.log}`);
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

  /** The agent's own children: process ids by program. */
  get children(): Map<string, number> {
    const pid = this.agent.pid;
    const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    return new Map(
      pids.filter(Boolean).map((child) => {
        const [program = ""] = readFileSync(`/proc/${child}/cmdline`, "utf8").split("\0");
        return [program, Number(child)];
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.remove();
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
