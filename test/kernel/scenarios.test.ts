import assert from "node:assert/strict";
import { test } from "node:test";
import { importObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { request, serve } from "../lab/programs.ts";
import { Objects, play, scenarios } from "../scenarios/play.ts";
import type { Scenario, Stage, State, Target } from "../scenarios/scenario.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";

/** New connections that stand for all: of three endpoints, one is missed once in 10^10 times. */
const SAMPLE = 60;

/** Plays a scenario with a real agent and real connections. */
class RealStage implements Stage {
  readonly #lab: Lab;
  readonly #manifests: ManifestDirectory;
  readonly #agent: AgentProcess;
  readonly #pods: ReadonlyMap<string, Namespace>;
  readonly #objects = new Objects();
  readonly #held = new Map<string, Process>();

  #marks = 0;

  private constructor(lab: Lab, { agent, regions }: Scenario) {
    this.#lab = lab;
    this.#manifests = new ManifestDirectory(lab, "manifests");
    const flags = ["--cluster-id", agent.cluster, "--region", regions.get(agent.cluster) ?? ""];
    this.#agent = new AgentProcess(lab.node(agent.cluster, agent.node), this.#manifests.path, [
      ...flags,
      ...["--node-name", agent.node, "--iptables-flavour", "nft", "--log-level", "debug"],
      ...["--explicit-vip-cidrs", "1.2.3.0/24"],
    ]);
    this.#pods = new Map(
      lab.topology.nodes.flatMap((node) =>
        node.pods.map((pod) => [pod.name, lab.pod(node.cluster, node.name, pod.name)]),
      ),
    );
  }

  /** Brings up the clusters, a server in every pod, and the agent. */
  static async open(scenario: Scenario): Promise<RealStage> {
    const lab = await Lab.create(scenario.lab);
    try {
      const stage = new RealStage(lab, scenario);
      const servers = [...stage.#pods].map(([name, pod]) =>
        pod.spawn(serve("--name", name, "--tcp", "8080", "--udp", "5353")),
      );
      await Promise.all(servers.map((server) => server.line(/serving/)));
      await stage.#agent.start();
      return stage;
    } catch (error) {
      await lab.remove();
      throw error;
    }
  }

  async load(file: string): Promise<void> {
    this.#objects.load(file);
    await this.#write();
  }

  async set(slice: string, state: State): Promise<void> {
    this.#objects.set(slice, state);
    await this.#write();
  }

  async connect(pod: string, { protocol, vip, port }: Target): Promise<ReadonlySet<string>> {
    const url = `${protocol.toLowerCase()}://${vip}:${port}`;
    const flags = ["--count", String(SAMPLE), "--every", "60000", "--timeout", "3000"];
    const { stdout } = await this.#pod(pod).run(request(...flags, url));
    const [sums = "{}"] = stdout.split("\n");
    const { answers, errors } = JSON.parse(sums) as { answers: object; errors: object };
    return new Set([...Object.keys(answers), ...Object.keys(errors)]);
  }

  async hold(pod: string, { vip, port }: Target): Promise<void> {
    const client = this.#pod(pod).spawn(request("--hold", `http://${vip}:${port}/`));
    await client.line(/"line":1[,}]/);
    this.#held.set(pod, client);
  }

  async held(pod: string): Promise<void> {
    const client = this.#held.get(pod);
    assert.ok(client, `${pod} holds nothing`);
    const before = client.lines.length;
    await client.line(new RegExp(`"line":${before + 3}[,}]`));
    assert.doesNotMatch(client.lines.join(""), /error/);
    const names = new Set(client.lines.map((line) => JSON.parse(line).name));
    assert.equal(names.size, 1, "another server answers on the same connection");
  }

  async restart(): Promise<void> {
    await this.#agent.stop();
    await this.#agent.start();
    const written = await this.#agent.metric("clusterset_agent_kernel_objects_written_total");
    const deleted = await this.#agent.metric("clusterset_agent_kernel_objects_deleted_total");
    assert.deepEqual([written, deleted], [0, 0], "a restart writes nothing");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lab.remove();
  }

  /** Writes all objects and a mark, and waits until the agent has read it and no change is on its way. */
  async #write(): Promise<void> {
    const mark = importObject(`marks/mark-${++this.#marks}`, [], []);
    this.#manifests.write("scenario", ...this.#objects.all, mark);
    await this.#agent.page(`/plan/marks/mark-${this.#marks}`);
    await eventually(async () => {
      const metric = "clusterset_agent_oldest_waiting_change_age_seconds";
      assert.equal(await this.#agent.metric(metric), 0, this.#agent.log);
    });
  }

  #pod(name: string): Namespace {
    const pod = this.#pods.get(name);
    assert.ok(pod, `no pod ${name}`);
    return pod;
  }
}

for (const { name, scenario } of scenarios()) {
  test(`scenario ${name}, with real connections`, async () => {
    await using stage = await RealStage.open(scenario);
    await play(scenario, stage);
  });
}
