import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import type { Rules } from "../../agent/backends/iptables/rules.ts";
import type { Changes } from "../../agent/backends/objects.ts";
import type { NodeFact } from "../../agent/model/facts.ts";
import { parseClusterProperty } from "../../agent/model/parse-cluster-property.ts";
import { FakeIptables } from "../doubles/iptables/iptables.ts";
import { nodeFact } from "../generators/facts.ts";
import { topologyOf } from "../lab/topology.ts";
import { applyTo, modelOf, planOf, transactionOf, wanted } from "../packets/rendered.ts";
import { fateText, trace } from "../packets/trace.ts";
import { parseScenario, type Scenario, STATES, type State, type Target } from "./scenario.ts";

const HERE = import.meta.dirname;

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly namespace?: string; readonly name: string };
  endpoints?: object[];
}

/** Plays a scenario over rendered rules: update by update into a pretend kernel, and a tracer for packets. */
class TracedStage {
  readonly #home: NodeFact;
  readonly #pods = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #objects = new Map<string, Manifest>();
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

  /** Takes every document of a file of manifests/, as `kubectl apply` would: by name. */
  load(file: string): void {
    const text = readFileSync(`${HERE}/manifests/${file}`, "utf8");
    for (const document of parseAllDocuments(text)) {
      const object: Manifest = document.toJS();
      const { namespace, name } = object.metadata;
      this.#objects.set(`${object.kind} ${namespace}/${name}`, object);
    }
    applyTo(this.#kernel, this.#desired());
  }

  /** Gives all endpoints of a slice one state. Throws if there is no such slice. */
  set(slice: string, state: State): void {
    const all = [...this.#objects.values()];
    const object = all.find((o) => o.kind === "EndpointSlice" && o.metadata.name === slice);
    assert.ok(object?.endpoints, `no slice ${slice}`);
    object.endpoints = object.endpoints.map((e) => ({ ...e, conditions: STATES[state] }));
    applyTo(this.#kernel, this.#desired());
  }

  /** Every pod that may answer a new connection, or `refused` alone. */
  connect(pod: string, target: Target): string[] {
    return [...this.#send(pod, target)].map((to) => this.#names.get(hostOf(to)) ?? to);
  }

  hold(pod: string, target: Target): void {
    const [to] = this.#send(pod, target);
    assert.ok(to);
    this.#held.set(pod, { target, to });
  }

  /** Throws unless what `hold` opened is answered by the same pod still. */
  held(pod: string): void {
    const held = this.#held.get(pod);
    assert.ok(held, `${pod} holds nothing`);
    assert.deepEqual([...this.#send(pod, held.target, held.to)], [held.to]);
  }

  /** A new agent reads the existing rules, and must write nothing. */
  restart(): void {
    assert.equal(transactionOf(this.#kernel, this.#desired()), "");
  }

  /** What an agent renders from the objects. */
  #desired(): Changes<Rules> {
    const all = [...this.#objects.values()];
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

const files = readdirSync(HERE).filter((file) => file.endsWith(".txt"));
for (const file of files.sort()) {
  const scenario = parseScenario(readFileSync(`${HERE}/${file}`, "utf8"));
  test(`scenario ${file.replace(/\.txt$/, "")}, traced over the rendered rules`, () => {
    const stage = new TracedStage(scenario);
    for (const step of scenario.steps) {
      if (step.does === "load") stage.load(step.file);
      else if (step.does === "set") stage.set(step.slice, step.state);
      else if (step.does === "hold") stage.hold(step.pod, step.target);
      else if (step.does === "held") stage.held(step.pod);
      else if (step.does === "restart") stage.restart();
      else {
        const answers = new Set(stage.connect(step.pod, step.target));
        assert.deepEqual([...answers].sort(), [...step.expect].sort(), step.line);
      }
    }
  });
}
