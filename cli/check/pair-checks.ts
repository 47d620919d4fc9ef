import { type Cidr, familiesIn } from "../../api/cidr.ts";
import { sameClusters } from "../install/findings.ts";
import { overlapsAmong, owned, rangesIn } from "../install/ranges.ts";
import { nodeWarnings, type ProbeResults, reachFaults } from "../reach/report.ts";
import { isIn, nameOf, serviceRanges } from "./cluster-checks.ts";
import {
  type CheckedCluster,
  type CheckedSet,
  fault,
  type Outcome,
  unknown,
  warning,
} from "./finding.ts";

/** A check of two clusters. */
export interface PairCheck {
  readonly question: string;
  /** What to do where it fails. */
  readonly advice: string;
  /** Empty: it passed. Undefined: it does not concern them. */
  readonly evaluate: (
    one: CheckedCluster,
    other: CheckedCluster,
    set: CheckedSet,
  ) => readonly Outcome[] | undefined;
}

/** All checks of two clusters, by name. They are shown in this order. PURE. */
export const PAIR_CHECKS = {
  identities: {
    question: "Are these two clusters, with different IDs?",
    advice: "Name one context for each cluster, and give each its own --id CONTEXT=ID.",
    evaluate: ({ member: one }, { member: other }) =>
      one === undefined || other === undefined
        ? []
        : sameClusters({ members: [one, other], hub: undefined }).map((text) => fault(text)),
  },
  "same-clusterset": {
    question: "Are both members of the same clusterset?",
    advice: "Let one of them leave, and join the clusterset of the other one.",
    evaluate: (one, other) => {
      const [ofOne, ofOther] = [one.facts.clusterSet, other.facts.clusterSet];
      return ofOne === undefined || ofOther === undefined || ofOne === ofOther
        ? []
        : [warning(`${nameOf(one)} is a member of ${ofOne}, ${nameOf(other)} of ${ofOther}.`)];
    },
  },
  "knows-the-other": {
    question: "Does each member read the exports of the other one?",
    advice: "Run join with the contexts of all members.",
    evaluate: (one, other) =>
      areMembers(one, other) ? [...unknownTo(one, other), ...unknownTo(other, one)] : undefined,
  },
  "ranges-of-pods": {
    question: "Do the ranges of pods not overlap?",
    advice: "Change the ranges of one cluster: each pod needs an address of its own.",
    evaluate: (one, other) => {
      const both = [one, other].flatMap((cluster) =>
        owned(`pods of ${nameOf(cluster)}`, podRanges(cluster)),
      );
      return overlapsAmong(both).map((text) => fault(`${text}.`));
    },
  },
  "ranges-of-services": {
    question: "Are pods of each cluster outside of the Service ranges of the other one?",
    advice:
      "Change the ranges of one cluster: there, kube-proxy handles these addresses as Services.",
    evaluate: (one, other) =>
      [
        [one, other],
        [other, one],
      ].flatMap(([a, b]) =>
        a === undefined || b === undefined
          ? []
          : overlapsAmong([
              ...owned(`pods of ${nameOf(a)}`, podRanges(a)),
              ...owned(`Services of ${nameOf(b)}`, serviceRanges(b)),
            ]).map((text) => warning(`${text}.`)),
      ),
  },
  "addresses-of-nodes": {
    question: "Are nodes of each cluster outside of the pod ranges of the other one?",
    advice: "Change the ranges of one cluster: answers to these nodes stay in the other cluster.",
    evaluate: (one, other) => [...nodesAmongPods(one, other), ...nodesAmongPods(other, one)],
  },
  "ip-families": {
    question: "Do pods of both clusters have a common IP family?",
    advice: "Pods of one family do not reach pods of the other one.",
    evaluate: (one, other) => {
      const [ofOne, ofOther] = [one, other].map((cluster) => familiesIn(podRanges(cluster)));
      if (ofOne === undefined || ofOther === undefined) return [];
      const isKnown = ofOne.length > 0 && ofOther.length > 0;
      return isKnown && !ofOne.some((family) => ofOther.includes(family))
        ? [
            warning(
              `Pods of ${nameOf(one)} have ${ofOne.join(", ")}, pods of ${nameOf(other)} have ${ofOther.join(", ")}.`,
            ),
          ]
        : [];
    },
  },
  reachability: {
    question: "Do pods of each cluster reach pods and the API server of the other one?",
    advice: "Correct this before a join (docs/guides/kubectl-plugin.md#what-pods-reach).",
    evaluate: (one, other, { probes }) =>
      probes === undefined
        ? undefined
        : [...reachProblems(one, other, probes), ...reachProblems(other, one, probes)],
  },
} as const satisfies Record<string, PairCheck>;

function podRanges({ member }: CheckedCluster): readonly Cidr[] {
  return rangesIn(member?.endpointCidrs ?? "") ?? [];
}

/** True for members of one mesh, in which each has a Secret for each other one. */
function areMembers({ facts: one }: CheckedCluster, { facts: other }: CheckedCluster): boolean {
  const isMesh = one.mode === "mesh" && other.mode === "mesh";
  return isMesh && one.clusterSet !== undefined && one.clusterSet === other.clusterSet;
}

function unknownTo(reader: CheckedCluster, { facts: { clusterId = "" } }: CheckedCluster) {
  const { peers } = reader.facts;
  return peers.some(({ cluster }) => cluster === clusterId)
    ? []
    : [warning(`${nameOf(reader)} has no Secret with which it reads exports of ${clusterId}.`)];
}

/** What pods and a node of a cluster do not reach of another one. */
function reachProblems(
  { member: from }: CheckedCluster,
  { member: to }: CheckedCluster,
  { reached }: ProbeResults,
): Outcome[] {
  if (from === undefined || to === undefined) return [unknown("A cluster has no known ranges.")];
  const attempts = reached
    .filter((one) => one.from === from.id)
    .flatMap((one) => one.attempts.filter((attempt) => attempt.to === to.id));
  if (attempts.length === 0)
    return [unknown(`What pods of ${from.id} reach in ${to.id} is not known.`)];
  const direction = [{ from: from.id, attempts }];
  return [
    ...reachFaults(direction, () => to.server).map((text) => fault(text)),
    ...nodeWarnings(direction).map((text) => warning(text, "")),
  ];
}

function nodesAmongPods(pods: CheckedCluster, nodes: CheckedCluster): Outcome[] {
  const ranges = podRanges(pods);
  for (const { name, addresses } of nodes.platform.nodes)
    for (const text of addresses)
      if (isIn(ranges, text))
        return [
          warning(
            `${text} of node ${name} of ${nameOf(nodes)} is in the range of pods of ${nameOf(pods)}.`,
          ),
        ];
  return [];
}
