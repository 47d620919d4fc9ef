import type { AgentConfig } from "../../agent/config/config.ts";
import { isUsage, type Usage, usage } from "../../common/config/usage.ts";
import type { NodeGroup } from "../view/simulation.ts";
import { type AgentFacts, nodeFactOf } from "./facts.ts";

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
