import assert from "node:assert/strict";
import { finished } from "../../agent/backends/backend.ts";
import { diff } from "../../agent/backends/iptables/diff.ts";
import { IptablesRuleset } from "../../agent/backends/iptables/ruleset.ts";
import type { KernelState } from "../../agent/backends/iptables/state.ts";
import type { NodeFact, PropertyFact } from "../../agent/model/facts.ts";
import { Model } from "../../agent/model/model.ts";
import { parseClusterProperty } from "../../agent/model/parse-cluster-property.ts";
import { parseImport } from "../../agent/model/parse-import.ts";
import { parseSlice } from "../../agent/model/parse-slice.ts";
import { planImport } from "../../agent/plan/plan.ts";
import { FakeIptables } from "../doubles/iptables/iptables.ts";
import { cidr, nodeFact } from "../generators/facts.ts";
import { topologyOf } from "../lab/topology.ts";
import { trace } from "../packets/trace.ts";
import { Objects } from "./play.ts";
import type { Scenario, Stage, State, Target } from "./scenario.ts";

/** Plays a scenario over rendered rules: update by update into a pretend kernel, and a tracer for packets. */
export class TracedStage implements Stage {
  #node: NodeFact;
  readonly #pods = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #objects = new Objects();
  readonly #kernel = new FakeIptables("IPv4");
  readonly #held = new Map<string, { target: Target; to: string }>();
  #model = new Model();
  #ruleset = this.#newRuleset();
  #state: KernelState = { chains: new Map(), jumps: [] };

  constructor({ lab, agent, regions }: Scenario) {
    const region = regions.get(agent.cluster);
    this.#node = nodeFact({
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
    this.#sync();
  }

  async load(file: string): Promise<void> {
    this.#objects.load(file);
    this.#observe();
  }

  async set(slice: string, state: State): Promise<void> {
    this.#objects.set(slice, state);
    this.#observe();
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

  /** A new agent: it reads the existing rules, and must write nothing. */
  async restart(): Promise<void> {
    this.#model = new Model();
    this.#ruleset = this.#newRuleset();
    for (const object of this.#objects.all) this.#apply(object);
    for (const key of this.#model.takeDirty().keys()) this.#plan(key);
    assert.equal(finished(diff(this.#state, finished(this.#ruleset.take()))).toString(), "");
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #newRuleset(): IptablesRuleset {
    const clusterSetCidrs = [cidr("241.0.0.0/8")];
    const masquerade = { mode: "none", podCidrs: [] } as const;
    return new IptablesRuleset({ family: "IPv4", clusterSetCidrs, masquerade });
  }

  #observe(): void {
    for (const object of this.#objects.all) this.#apply(object);
    this.#sync();
  }

  #apply(object: object): void {
    const kind = (object as { kind: string }).kind;
    const property = kind === "ClusterProperty" ? parseClusterProperty(object).fact : undefined;
    if (property !== undefined) this.#see(property);
    const slice = kind === "EndpointSlice" ? parseSlice(object).fact : undefined;
    if (slice !== undefined) this.#model.setSlice(slice, 0);
    const fact = kind === "ServiceImport" ? parseImport(object).fact : undefined;
    if (fact !== undefined) this.#model.setImport(fact, 0);
  }

  #see({ name, value }: PropertyFact): void {
    if (this.#node.properties.get(name) === value) return;
    const properties = new Map(this.#node.properties).set(name, value);
    this.#node = { ...this.#node, properties };
    for (const key of this.#model.keys()) this.#plan(key);
  }

  #sync(): void {
    for (const key of this.#model.takeDirty().keys()) this.#plan(key);
    const tx = finished(diff(this.#state, finished(this.#ruleset.take())));
    const { exitCode, stderr } = this.#kernel.restore(tx.toString());
    assert.equal(exitCode, 0, stderr);
    tx.settle(this.#state);
  }

  #plan(key: `${string}/${string}`): void {
    const view = this.#model.view(key);
    this.#ruleset.set(key, view === undefined ? [] : planImport(view, this.#node).services);
  }

  /** Where packets of a pod may go; with `bound`, packets of a connection that was sent there. */
  #send(pod: string, { protocol, vip, port }: Target, bound?: string): Set<string> {
    const source = this.#pods.get(pod);
    assert.ok(source, `no pod ${pod}`);
    const outcomes = trace(
      { nat: this.#kernel.table("nat"), filter: this.#kernel.table("filter") },
      {
        from: "pod",
        source,
        destination: vip,
        protocol: protocol === "UDP" ? "udp" : "tcp",
        port,
        ...(bound !== undefined && {
          state: "ESTABLISHED",
          boundTo: { address: hostOf(bound), port: Number(bound.split(":")[1]) },
        }),
      },
    );
    return new Set(
      outcomes.map(({ fate }) => {
        if (fate.fate === "sent") return fate.to;
        return fate.fate === "rejected" ? "refused" : fate.fate;
      }),
    );
  }
}

function hostOf(destination: string): string {
  return destination.split(":")[0] ?? "";
}
