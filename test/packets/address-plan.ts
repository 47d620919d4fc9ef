import type { NodeFact } from "../../agent/model/facts.ts";
import type { Family } from "../../api/address.ts";
import { cidr, nodeFact } from "../generators/facts.ts";
import { type LabSpec, type NodePlace, pathOf, topologyOf } from "../lab/topology.ts";

/**
 * The one world of all packet cases. The node that is looked at is c1/n1:
 *
 *     c1  eu-west  n1 (eu-west-a)  a 10.1.0.11  b 10.1.0.12  client 10.1.0.13
 *                  n2 (eu-west-b)  c 10.1.1.11
 *     c2  eu-west  n1 (eu-west-a)  a 10.2.0.11  b 10.2.0.12
 *     c3  us-east  n1 (us-east-a)  a 10.3.0.11  b 10.3.0.12
 *
 * and the same in IPv6, fd00:10:1::11 for c1/n1/a. Nodes have 172.20.1.11 and fd00:20:1::11 and so on.
 */
export const LAB: LabSpec = {
  clusters: [
    {
      id: "c1",
      region: "eu-west",
      nodes: [
        { name: "n1", pods: { a: [], b: [], client: [] } },
        { name: "n2", pods: { c: [] } },
      ],
    },
    { id: "c2", region: "eu-west", nodes: [{ name: "n1", pods: { a: [], b: [] } }] },
    { id: "c3", region: "us-east", nodes: [{ name: "n1", pods: { a: [], b: [] } }] },
  ],
};

/** Where the agent runs. */
export const HOME = "c1/n1";
/** A pod of that node that serves nothing. */
export const CLIENT = "c1/n1/client";

/** The zone of every node, by path. */
export const ZONES: Readonly<Record<string, string>> = {
  "c1/n1": "eu-west-a",
  "c1/n2": "eu-west-b",
  "c2/n1": "eu-west-a",
  "c3/n1": "us-east-a",
};

/** VIPs in the ClusterSet CIDRs, and some that a person chose. */
export const VIPS = {
  first: "241.0.0.10",
  second: "241.0.0.11",
  /** In another /20, /24 and /28. */
  far: "241.7.113.200",
  /** In the CIDR, and unused. */
  unknown: "241.0.0.99",
  six: "fd00:241::10",
  sixUnknown: "fd00:241::99",
  explicit: "1.2.3.4",
  explicitSix: "2001:db8::10",
} as const;

const NODES = topologyOf(LAB).nodes;

/** Region of a cluster. */
export function regionOf(cluster: string): string | undefined {
  return LAB.clusters.find(({ id }) => id === cluster)?.region;
}

/** The address of a pod (`c1/n1/a`) or of a node itself (`c1/n1`). */
export function addressAt(path: string, family: Family): string {
  for (const node of NODES) {
    const places = [{ path: pathOf(node), addresses: node.addresses }];
    places.push(...node.pods.map((pod) => ({ path: pathOf(node, pod), addresses: pod.addresses })));
    const place = places.find((one) => one.path === path);
    const address = place?.addresses.find((one) => one.family === family);
    if (address) return address.text;
  }
  throw new Error(`${path}: not in the plan`);
}

/** The node that a pod runs on. */
export function nodeOf(path: string): { readonly cluster: string; readonly name: string } {
  const [cluster = "", name = ""] = path.split("/");
  return { cluster, name };
}

/** The agent's facts of c1/n1. */
export function homeFact(): NodeFact {
  const home = NODES.find((node): node is NodePlace => pathOf(node) === HOME);
  return nodeFact({
    podCidrs: [cidr("10.1.0.0/16"), cidr("fd00:10:1::/48")],
    explicitVipCidrs: [cidr("0.0.0.0/0"), cidr("::/0")],
    reservedAddresses: new Set(home?.addresses.map(({ text }) => text)),
  });
}
