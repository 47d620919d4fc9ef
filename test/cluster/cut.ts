import type { Topology } from "../lab/topology.ts";
import { CONTROL_PLANE } from "./spec.ts";

/**
 * Traffic between two clusters that is dropped: all; `api`: to the control planes; `pods`: between nodes and pods.
 */
export const CUTS = ["all", "api", "pods"] as const;
export type CutKind = (typeof CUTS)[number];

export interface Cut {
  readonly clusters: readonly [string, string];
  readonly kind: CutKind;
}

/**
 * The router's whole ruleset with these cuts, for `nft -f`: packets are dropped without an error, also those of established
 * connections.
 */
export function rulesOf(topology: Topology, cuts: readonly Cut[]): string {
  const pairs = cuts.flatMap((cut) => pairsOf(topology, cut));
  const rules = pairs
    .filter(([a, b]) => a.length > 0 && b.length > 0)
    .flatMap(([a, b]) => [dropBetween(a, b), dropBetween(b, a)]);
  return `table inet cuts
delete table inet cuts
table inet cuts {
  chain forward {
    type filter hook forward priority filter; policy accept;
${rules.map((rule) => `    ${rule}\n`).join("")}  }
}
`;
}

function pairsOf(topology: Topology, { clusters: [a, b], kind }: Cut) {
  const [those, others] = [linksOf(topology, a), linksOf(topology, b)];
  const all = ({ planes, nodes }: Links) => [...planes, ...nodes];
  switch (kind) {
    case "all":
      return [[all(those), all(others)]] as const;
    case "api":
      return [
        [all(those), others.planes],
        [those.planes, others.nodes],
      ] as const;
    case "pods":
      return [[those.nodes, others.nodes]] as const;
  }
}

interface Links {
  readonly planes: readonly string[];
  readonly nodes: readonly string[];
}

/** The router's links are called by the place of their node (test/lab/topology.ts). */
function linksOf(topology: Topology, cluster: string): Links {
  const links = topology.nodes.flatMap((node, i) =>
    node.cluster === cluster ? [{ link: `node${i}`, isPlane: node.name === CONTROL_PLANE }] : [],
  );
  if (links.length === 0) throw new Error(`there is no ${cluster}`);
  const namesOf = (isPlane: boolean) =>
    links.filter((one) => one.isPlane === isPlane).map(({ link }) => link);
  return { planes: namesOf(true), nodes: namesOf(false) };
}

function dropBetween(from: readonly string[], to: readonly string[]): string {
  return `iifname ${setOf(from)} oifname ${setOf(to)} drop`;
}

function setOf(links: readonly string[]): string {
  return `{ ${links.map((link) => `"${link}"`).join(", ")} }`;
}
