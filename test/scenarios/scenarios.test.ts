import assert from "node:assert/strict";
import { test } from "node:test";
import { finished } from "../../agent/backends/backend.ts";
import { diff } from "../../agent/backends/iptables/diff.ts";
import type { Changes } from "../../agent/backends/iptables/state.ts";
import type { NodeFact } from "../../agent/model/facts.ts";
import { parseClusterProperty } from "../../agent/model/parse-cluster-property.ts";
import { stateOf } from "../doubles/iptables/backend.ts";
import { FakeIptables } from "../doubles/iptables/iptables.ts";
import { nodeFact } from "../generators/facts.ts";
import { topologyOf } from "../lab/topology.ts";
import { applyTo, modelOf, planOf, wanted } from "../packets/rendered.ts";
import { fateText, trace } from "../packets/trace.ts";
import { Objects, play, scenarios } from "./play.ts";
import type { Scenario, Stage, State, Target } from "./scenario.ts";

/** Plays a scenario over rendered rules: update by update into a pretend kernel, and a tracer for packets. */
class TracedStage implements Stage {
  readonly #home: NodeFact;
  readonly #pods = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #objects = new Objects();
  readonly #kernel = new FakeIptables("IPv4");
  readonly #held = new Map<string, { target: Target; to: string }>();

  constructor({ lab, agent, regions }: Scenario) {
    const region = regions.get(agent.cluster);
    this.#home = nodeFact({
      cluster: agent.cluster,
      name: agent.node,
      podCidrs: [],
      ...(region !== undefined && { region }),
    });
    for (const node of topologyOf(lab).nodes) {
      for (const pod of node.pods) {
        const address = pod.addresses[0]?.text ?? "";
        this.#pods.set(pod.name, address);
        this.#names.set(address, pod.name);
      }
    }
    applyTo(this.#kernel, this.#desired());
  }

  async load(file: string): Promise<void> {
    this.#objects.load(file);
    applyTo(this.#kernel, this.#desired());
  }

  async set(slice: string, state: State): Promise<void> {
    this.#objects.set(slice, state);
    applyTo(this.#kernel, this.#desired());
  }

  async connect(pod: string, target: Target): Promise<ReadonlySet<string>> {
    return new Set([...this.#send(pod, target)].map((to) => this.#names.get(hostOf(to)) ?? to));
  }

  async hold(pod: string, target: Target): Promise<void> {
    const [to] = this.#send(pod, target);
    assert.ok(to);
    this.#held.set(pod, { target, to });
  }

  async held(pod: string): Promise<void> {
    const held = this.#held.get(pod);
    assert.ok(held, `${pod} holds nothing`);
    assert.deepEqual([...this.#send(pod, held.target, held.to)], [held.to]);
  }

  /** A new agent reads the existing rules, and must write nothing. */
  async restart(): Promise<void> {
    assert.equal(finished(diff(stateOf(this.#kernel), this.#desired())).toString(), "");
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** What an agent renders from the objects. */
  #desired(): Changes {
    const { all } = this.#objects;
    const isProperty = ({ kind }: { readonly kind: string }) => kind === "ClusterProperty";
    const properties = new Map<string, string>();
    for (const object of all.filter(isProperty)) {
      const { fact } = parseClusterProperty(object);
      if (fact !== undefined) properties.set(fact.name, fact.value);
    }
    const node = { ...this.#home, properties };
    const others = all.filter((object) => !isProperty(object));
    return wanted(planOf(modelOf(others, node), node), "IPv4", node, "none");
  }

  /** Where packets of a pod may go; with `bound`, packets of a connection that was sent there. */
  #send(pod: string, { protocol, vip, port }: Target, bound?: string): Set<string> {
    const source = this.#pods.get(pod);
    assert.ok(source, `no pod ${pod}`);
    const outcomes = trace(this.#kernel.tables, {
      from: "pod",
      source,
      destination: vip,
      protocol: protocol === "UDP" ? "udp" : "tcp",
      port,
      ...(bound !== undefined && {
        state: "ESTABLISHED",
        boundTo: { address: hostOf(bound), port: Number(bound.split(":")[1]) },
      }),
    });
    return new Set(
      outcomes.map(({ fate }) => (fate.fate === "rejected" ? "refused" : fateText(fate))),
    );
  }
}

function hostOf(destination: string): string {
  return destination.split(":")[0] ?? "";
}

for (const { name, scenario } of scenarios()) {
  test(`scenario ${name}, traced over the rendered rules`, async () => {
    await using stage = new TracedStage(scenario);
    await play(scenario, stage);
  });
}
