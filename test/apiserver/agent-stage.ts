import { RESOURCES, type Resource } from "../../agent/sources/kubernetes/queries.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { AgentProcess, eventually } from "../stages/agent-process.ts";
import type { Asked } from "./audit.ts";
import { ControlPlane } from "./control-plane.ts";
import { agentRights } from "./rights.ts";

/** What the agent is called to the API server. */
export const AGENT = "agent";

/** Longer than the longest backoff after the faults of these tests. */
const PATIENCE_MS = 60_000;

export interface AgentStageOptions {
  /** False: there are no CRDs yet. */
  readonly crds?: boolean;
  /** More of the agent's flags. */
  readonly flags?: readonly string[];
  /** The etcd binary of the control plane. */
  readonly etcd?: string;
}

/** A real agent on a node, with the rights it needs and no others, and a real API server on another. */
export class AgentStage implements AsyncDisposable {
  readonly lab: Lab;
  readonly plane: ControlPlane;
  readonly #flags: readonly string[];
  /** The latest that was made. */
  agent: AgentProcess;

  private constructor(lab: Lab, plane: ControlPlane, flags: readonly string[]) {
    this.lab = lab;
    this.plane = plane;
    this.#flags = flags;
    this.agent = this.newAgent();
  }

  /** Brings everything up but the agent. */
  static async open(options: AgentStageOptions = {}): Promise<AgentStage> {
    const { crds = true, flags = [], etcd } = options;
    const nodes = [{ name: "n1" }, { name: "control-plane" }];
    const lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
    const namespace = lab.node("c1", "control-plane");
    try {
      const plane = await ControlPlane.start({
        ...{ namespace, users: [AGENT] },
        ...(etcd !== undefined && { etcd }),
      });
      const stage = new AgentStage(lab, plane, flags);
      await stage.allow();
      await plane.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
      if (crds) await plane.installCrds();
      return stage;
    } catch (error) {
      await lab.remove();
      throw error;
    }
  }

  get node(): Namespace {
    return this.lab.node("c1", "n1");
  }

  /** An agent that was not started yet; `more`: flags of its own. */
  newAgent(...more: readonly string[]): AgentProcess {
    const kubeconfig = this.plane.kubeconfig({ user: AGENT });
    const flags = ["--node-name", "n1", "--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
    const all = [...flags, ...this.#flags, ...more];
    this.agent = new AgentProcess(this.node, { kubeconfig }, all);
    return this.agent;
  }

  /** Another agent instead of the one that runs; waits until the kernel is as it plans. */
  async restartAgent(...more: readonly string[]): Promise<void> {
    if (this.agent.started) await this.agent.stop();
    await this.newAgent(...more).start();
  }

  /** Gives the agent its rights; `but`: on this resource none. */
  async allow(but?: string): Promise<void> {
    const [role, binding] = agentRights(AGENT);
    const rules = role.rules?.filter(({ resources }) => !resources.some((one) => one === but));
    await this.plane.admin.apply({ ...role, rules });
    await this.plane.admin.apply(binding);
  }

  /** Takes them away. */
  async forbid(): Promise<void> {
    const [, binding] = agentRights(AGENT);
    await this.plane.admin.delete(binding);
  }

  /** Our rules in the kernel, as iptables-save spells them. */
  async rules(): Promise<string> {
    const saved =
      (await this.node.exec(["iptables-save"])) + (await this.node.exec(["ip6tables-save"]));
    return saved
      .split("\n")
      .filter((line) => line.includes("CSP-"))
      .join("\n");
  }

  /** Waits until the rules match. */
  async untilRules(expected: RegExp): Promise<string> {
    return eventually(async () => {
      const rules = await this.rules();
      if (!expected.test(rules)) throw new Error(`no ${expected} in\n${rules}\n${this.agent.log}`);
      return rules;
    }, PATIENCE_MS);
  }

  /** Rules and chains that the agent has written or deleted so far; none before it has looked at the kernel. */
  async operations(): Promise<number> {
    const lines = (await this.agent.page("/metrics")).split("\n");
    const values = lines.filter((line) => /^clusterset_agent_kernel_objects_\w+_total{/.test(line));
    return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  /** `/readyz?verbose`, with any status. */
  async readyz(): Promise<string> {
    const url = "http://127.0.0.1:10269/readyz?verbose";
    const { stdout } = await this.node.run(["curl", "-s", "-m", "2", url]);
    return stdout;
  }

  /** Waits until `/readyz?verbose` has this state of the connection for each of these resources. */
  async untilSeen(reason: string, resources: readonly Resource[] = RESOURCES): Promise<string> {
    return this.#untilReadyz(...resources.map((one) => `[-]source-${one} ${reason}: `));
  }

  /** Waits until the agent follows these resources; all that it reads by default. */
  async untilFollowed(resources: readonly Resource[] = RESOURCES): Promise<void> {
    await this.#untilReadyz(...resources.map((one) => `[+]source-${one} ok`));
  }

  async #untilReadyz(...lines: readonly string[]): Promise<string> {
    return eventually(async () => {
      const text = await this.readyz();
      const missing = lines.filter((line) => !text.includes(line));
      if (missing.length > 0)
        throw new Error(`no ${missing.join()} in\n${text}\n${this.agent.log}`);
      return text;
    }, PATIENCE_MS);
  }

  /** What was logged about connections to the API server: `serviceimports unreachable`, … `ok`. */
  get connections(): string[] {
    return this.agent.log.split("\n").flatMap((line) => {
      if (!/"msg":"Watch (failed|restored)/.test(line)) return [];
      const { resource, reason } = JSON.parse(line) as { resource: string; reason: string };
      return [`${resource} ${reason}`];
    });
  }

  /** Requests of the agents to the API server so far. */
  asked(): Asked[] {
    return this.plane.asked(AGENT);
  }

  /** Waits for such a request. */
  async untilAsked(such: (asked: Asked) => boolean): Promise<void> {
    await eventually(() => {
      if (!this.asked().some((one) => such(one)))
        throw new Error(`never asked:\n${this.agent.log}`);
    }, PATIENCE_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.plane.remove();
    await this.lab.remove();
  }
}
