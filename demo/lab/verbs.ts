import type { ClusterNode } from "../../test/cluster/cluster-node.ts";
import type { Clusters } from "../../test/cluster/clusters.ts";
import { CUTS } from "../../test/cluster/cut.ts";

/** Something that can be done to clusters while they run. */
export interface Verb {
  /** What it is given, for the list of verbs. */
  readonly takes: string;
  readonly does: string;
  /** Does it, or promises to. Only `enter` gives something: the beginning of a command. Throws on what it cannot be given. */
  readonly run: (clusters: Clusters, args: readonly string[]) => unknown;
}

/** All of them by name. */
export const VERBS: Readonly<Record<string, Verb>> = {
  stop: {
    takes: "CLUSTER",
    does: "the control plane stands still: connections are accepted, and nothing is said on them",
    run: (clusters, [cluster]) => clusters.cluster(named(cluster)).plane.freeze(),
  },
  continue: {
    takes: "CLUSTER",
    does: "it goes on",
    run: (clusters, [cluster]) => clusters.cluster(named(cluster)).plane.thaw(),
  },
  kill: {
    takes: "CLUSTER",
    does: "the control plane is killed: connections break, and are refused",
    run: (clusters, [cluster]) => clusters.cluster(named(cluster)).plane.kill(),
  },
  start: {
    takes: "CLUSTER",
    does: "the killed control plane comes back, with its data",
    run: (clusters, [cluster]) => clusters.cluster(named(cluster)).plane.start(),
  },
  cut: {
    takes: "CLUSTER [CLUSTER [all|api|pods]]",
    does: "from all others, or from one: everything, the control planes only, or nodes and pods only",
    run: async (clusters, [a, b, kind = "all"]) => {
      const known = CUTS.find((one) => one === kind);
      if (known === undefined) throw new Error(`"${kind}": expected ${CUTS.join(", ")}`);
      if (b === undefined) await clusters.isolate(named(a));
      else await clusters.cut(named(a), b, known);
    },
  },
  heal: {
    takes: "",
    does: "ends all cuts",
    run: (clusters) => clusters.heal(),
  },
  restart: {
    takes: "NODE",
    does: "the node's power goes, and comes back",
    run: (clusters, [node]) => nodeOf(clusters, named(node)).restart(),
  },
  "power-off": {
    takes: "NODE|CLUSTER",
    does: "a node's power goes, or that of a whole cluster with its control plane",
    run: async (clusters, [name]) => {
      const cluster = clusters.all.find(({ id }) => id === name);
      const nodes = cluster?.nodes ?? [nodeOf(clusters, named(name))];
      await Promise.all([cluster?.plane.kill(), ...nodes.map((node) => node.powerOff())]);
    },
  },
  "power-on": {
    takes: "NODE|CLUSTER",
    does: "it comes back",
    run: async (clusters, [name]) => {
      const cluster = clusters.all.find(({ id }) => id === name);
      const nodes = cluster?.nodes ?? [nodeOf(clusters, named(name))];
      await Promise.all([cluster?.plane.start(), ...nodes.map((node) => node.powerOn())]);
    },
  },
  load: {
    takes: "ARCHIVE",
    does: "loads an image archive (OCI or Docker) into every node",
    run: async (clusters, [archive]) => {
      const nodes = clusters.all.flatMap((cluster) => cluster.nodes);
      for (const node of nodes) await node.load(named(archive));
    },
  },
  enter: {
    takes: "NODE [COMMAND…]",
    does: "runs a program on the node: a shell, if none is said",
    run: (clusters, [node]) => nodeOf(clusters, named(node)).host.within,
  },
};

/** The list of verbs, for people. `program`: what to type before them. */
export function listOf(program: string): string {
  const rows = Object.entries(VERBS).map(([name, { takes, does }]) => {
    return `  ${program} ${`${name} ${takes}`.padEnd(40)} ${does}\n`;
  });
  return rows.join("");
}

function nodeOf(clusters: Clusters, name: string): ClusterNode {
  const nodes = clusters.all.flatMap((cluster) => cluster.nodes);
  const node = nodes.find((one) => one.name === name);
  if (node !== undefined) return node;
  throw new Error(`there is no ${name}; there are ${nodes.map((one) => one.name).join(", ")}`);
}

function named(word: string | undefined): string {
  if (word === undefined) throw new Error("of which? Say a name");
  return word;
}
