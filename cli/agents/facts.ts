import type { AgentConfig } from "../../agent/config/config.ts";
import { nodeFact } from "../../agent/config/node-fact.ts";
import type { ImportFact, NodeFact, NodeObjectFact, SliceFact } from "../../agent/model/facts.ts";
import { Model } from "../../agent/model/model.ts";
import { parseClusterProperty } from "../../agent/model/parse-cluster-property.ts";
import { parseImport } from "../../agent/model/parse-import.ts";
import { parseNode } from "../../agent/model/parse-node.ts";
import { parseSlice } from "../../agent/model/parse-slice.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, textField } from "../../api/parse/fields.ts";
import { Interner } from "../../api/parse/interner.ts";
import { parseIpAddress } from "../../api/parse/parse-ip-address.ts";
import type { Problem } from "../../api/problem.ts";
import { isUsage, type Usage, usage } from "../../common/config/usage.ts";
import type { NodeGroup } from "../view/simulation.ts";

/** The facts of a cluster, as its agents parse them from the objects of its API server. */
export interface AgentFacts {
  readonly imports: ReadonlyMap<ObjectKey, ImportFact>;
  readonly slices: ReadonlyMap<ObjectKey, SliceFact>;
  /** The import that holds a VIP, by the VIP. */
  readonly holders: ReadonlyMap<string, ObjectKey>;
  readonly properties: ReadonlyMap<string, string>;
  /** By name. */
  readonly nodes: ReadonlyMap<string, NodeObjectFact>;
  /** Rejected parts of all objects. */
  readonly problems: readonly Problem[];
}

/** Objects of each kind. */
export interface FactObjects {
  readonly imports: Iterable<unknown>;
  readonly slices: Iterable<unknown>;
  readonly properties: Iterable<unknown>;
  readonly holders: Iterable<unknown>;
  readonly nodes: Iterable<unknown>;
}

/** Parses objects with the agents' own strict parsers. PURE. */
export function agentFacts(objects: FactObjects, config: AgentConfig): AgentFacts {
  const interner = new Interner();
  const problems: Problem[] = [];
  const parsed = <Fact>(
    list: Iterable<unknown>,
    parse: (object: unknown) => Parsed<Fact>,
  ): Fact[] =>
    Array.from(list, parse).flatMap(({ fact, problems: own }) => {
      problems.push(...own);
      return fact === undefined ? [] : [fact];
    });
  const { clusterSetCidrs } = config;
  const imports = parsed(objects.imports, (object) => parseImport(object, interner));
  const slices = parsed(objects.slices, (object) => parseSlice(object, clusterSetCidrs, interner));
  const nodes = Array.from(objects.nodes).flatMap((object) =>
    parsed([object], parseNode).map((fact) => [nameOf(object), fact] as const),
  );
  return {
    imports: new Map(imports.map((fact) => [fact.key, fact])),
    slices: new Map(slices.map((fact) => [fact.key, fact])),
    holders: new Map(
      parsed(objects.holders, parseIpAddress).map(({ address, holder }) => [address, holder]),
    ),
    properties: new Map(
      parsed(objects.properties, parseClusterProperty).map(({ name, value }) => [name, value]),
    ),
    nodes: new Map(nodes),
    problems,
  };
}

/** Of an object whose parser has accepted its name. */
function nameOf(object: unknown): string {
  return textField(fieldAt(object, "metadata"), "name") ?? "";
}

/** The agents' model of these facts. PURE. */
export function modelOf(facts: AgentFacts, config: AgentConfig): Model {
  const model = new Model(config.clusterSetCidrs, config);
  for (const fact of facts.imports.values()) model.setImport(fact, 0);
  for (const fact of facts.slices.values()) model.setSlice(fact, 0);
  for (const [vip, holder] of facts.holders) model.setHolder(vip, holder, 0);
  model.listed();
  return model;
}

/**
 * A node as its agent sees it, without what only the node knows: addresses of its interfaces, and what does not answer. A usage error if
 * the agent would report one. PURE.
 */
export function nodeFactOf(name: string, facts: AgentFacts, config: AgentConfig): NodeFact | Usage {
  const all = [...facts.nodes.values()];
  const network = {
    ranges: [...config.serviceCidrs, ...all.flatMap(({ podCidrs }) => podCidrs)],
    addresses: new Set(all.flatMap(({ addresses }) => addresses)),
  };
  const observed = { object: facts.nodes.get(name), properties: facts.properties, network };
  return nodeFact({ ...config, nodeName: name }, [], observed);
}

/**
 * One node for each region and zone, or the one that is named. Nodes of one group plan alike, except for imports that prefer single
 * nodes. Without Nodes: one group. A usage error if there is no such node, or its agent would report one. PURE.
 */
export function nodeGroups(
  facts: AgentFacts,
  config: AgentConfig,
  from: string | undefined,
): readonly NodeGroup[] | Usage {
  if (from !== undefined && !facts.nodes.has(from)) {
    return usage({ where: "--from", value: from, expected: "expected the name of a Node" });
  }
  const groups = new Map<string, { readonly first: string; size: number }>();
  const names = from === undefined ? [...facts.nodes.keys()].sort() : [from];
  for (const name of names.length === 0 ? [""] : names) {
    const { region = "", zone = "" } = facts.nodes.get(name) ?? {};
    const place = from ?? ([region, zone].filter((part) => part !== "").join("/") || "all");
    const group = groups.get(place) ?? { first: name, size: 0 };
    groups.set(place, { ...group, size: group.size + 1 });
  }
  const found: NodeGroup[] = [];
  for (const [name, { first, size }] of groups) {
    const node = nodeFactOf(first, facts, config);
    if (isUsage(node)) return node;
    found.push({ name, node, size });
  }
  return found;
}
