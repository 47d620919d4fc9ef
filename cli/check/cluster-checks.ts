import { isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, containsAny } from "../../api/cidr.ts";
import { counted } from "../../api/count.ts";
import { chooseDns, dnsFault, dnsNote } from "../install/dns.ts";
import { rejectedEndpoints, sameClusters } from "../install/findings.ts";
import { contradictions, type Member, type MemberFault } from "../install/members.ts";
import { isInside, overlapsAmong, owned, rangesIn } from "../install/ranges.ts";
import { agentProblems, nodeProblems, podsReachRules, unreachedClusters } from "./agent-reports.ts";
import { componentProblems } from "./components.ts";
import {
  type CheckedCluster,
  type CheckedSet,
  fault,
  type Outcome,
  ok,
  unknown,
  warning,
} from "./finding.ts";
import { kernelProblems, processorProblems, systemProblems } from "./nodes.ts";

/** A check of one cluster: a row is all that a new one needs. */
export interface ClusterCheck {
  readonly question: string;
  /** What to do where it fails or is not known, unless the outcome says so. `CONTEXT` stands for the name of the context. */
  readonly advice: string;
  /** Empty: it passed. Undefined: it does not concern this cluster. */
  readonly evaluate: (cluster: CheckedCluster, set: CheckedSet) => readonly Outcome[] | undefined;
}

/** Tests run the manifests with 1.24. The programs need EndpointSlices of 1.21; policies of admission are of 1.30. */
const OLDEST = { manifests: 24, programs: 21, admission: 30 } as const;

/** All checks of one cluster, by name. They are shown in this order. PURE. */
export const CLUSTER_CHECKS = {
  kubernetes: {
    question: "Is Kubernetes new enough?",
    advice: "Upgrade Kubernetes.",
    evaluate: ({ facts: { minor }, member, platform: { gitVersion } }, { join }) => {
      const oldest = join?.manifests === false ? OLDEST.programs : OLDEST.manifests;
      if (minor < oldest) return [fault(`Kubernetes 1.${minor} is older than 1.${oldest}.`)];
      return minor < OLDEST.admission && member?.components.includes("admission") === true
        ? [fault(`Kubernetes 1.${minor} has no admission policies.`, "Leave admission out.")]
        : [ok(gitVersion)];
    },
  },
  rights: {
    question: "May you read what checks read, and write what a join writes?",
    advice: "Use a context with the rights of a cluster administrator.",
    evaluate: ({ missingRights = [], platform: { unread } }) => [
      ...missingRights.map((sentence) => warning(sentence)),
      ...unread.map((sentence) => unknown(sentence)),
    ],
  },
  "cluster-id": {
    question: "Does the cluster have an ID of its own?",
    advice: "Give --id CONTEXT=ID.",
    evaluate: ({ faults, member }, set) => [
      ...about("cluster-id", faults),
      ...(member === undefined
        ? []
        : sameClusters({ members: [member], hub: set.hub }).map((text) => fault(text))),
    ],
  },
  region: {
    question: "Is the region of the cluster known?",
    advice: "Give --region CONTEXT=REGION.",
    evaluate: ({ faults }) => about("region", faults),
  },
  clusterset: {
    question: "Is the cluster a member of this clusterset, or of none?",
    advice: "Let it leave first.",
    evaluate: ({ facts: { clusterSet, mode } }, { join, hub }) => {
      const ours = hub === undefined ? "mesh" : "hub";
      return [
        ...(join !== undefined && clusterSet !== undefined && clusterSet !== join.id
          ? [fault(`It is a member of clusterset ${clusterSet}, not ${join.id}.`)]
          : []),
        ...(join !== undefined && mode !== undefined && mode !== ours
          ? [
              fault(
                `Its controller uses a ${mode}, and the others a ${ours}.`,
                "A clusterset uses a mesh or a hub.",
              ),
            ]
          : []),
        ...(clusterSet === undefined ? [] : [ok(clusterSet)]),
      ];
    },
  },
  peers: {
    question: "Are the contexts of all its peers named?",
    advice: "Name the context of the peer, too, so that it and new members know each other.",
    evaluate: ({ facts: { peers } }, { clusters }) => {
      const ids = new Set(clusters.map(({ member, facts }) => member?.id ?? facts.clusterId));
      return peers
        .filter(({ cluster }) => !ids.has(cluster))
        .map(({ cluster }) =>
          warning(`It has the peer ${cluster}, which is not among the contexts.`),
        );
    },
  },
  "peer-facts": {
    question: "Do its peers have the address and ranges that the cluster states?",
    advice: "Find out which of them is right, and set it by a flag.",
    evaluate: ({ member }, { clusters, hub, flags }) =>
      member === undefined || hub !== undefined
        ? []
        : contradictions(member, membersIn(clusters), flags).map((text) => fault(text, "")),
  },
  "pod-ranges": {
    question: "Are the ranges of pods known, and all pods inside?",
    advice: "Give --endpoint-cidrs CONTEXT=RANGES.",
    evaluate: ({ faults, member }, { clustersetCidrs }) => [
      ...about("pod-ranges", faults),
      ...(member === undefined ? [] : podRanges(member, clustersetCidrs)),
    ],
  },
  "exported-endpoints": {
    question: "Are all endpoints of exported Services in the ranges of pods?",
    advice:
      "Give --endpoint-cidrs CONTEXT=RANGES, or export Services whose pods have addresses of their own.",
    evaluate: ({ member, exported }) => {
      if (member === undefined || exported === undefined) return undefined;
      const { exports, slices } = exported;
      const text = rejectedEndpoints(member, exports, slices);
      return text === undefined
        ? [ok(counted(exports.length, "ServiceExport"))]
        : [warning(text, "")];
    },
  },
  "service-ranges": {
    question: "Are the Service ranges apart from the ClusterSet CIDR?",
    advice: "Choose another range with --clusterset-cidr, the same in all clusters.",
    evaluate: serviceRangeProblems,
  },
  "clusterset-cidr": {
    question: "Do the agents have this ClusterSet CIDR?",
    advice:
      "Give --clusterset-cidr as the agents have it, or change theirs (docs/guides/clusterset-cidr.md).",
    evaluate: ({ clustersetCidrs: own }, { clustersetCidrs }) => {
      if (own === undefined) return undefined;
      const [ofAgents, ofAll] = [textOf(own), textOf(clustersetCidrs)];
      return ofAgents === ofAll
        ? [ok(ofAll)]
        : [warning(`Its agents have --clusterset-cidr ${ofAgents}, not ${ofAll}.`)];
    },
  },
  "node-addresses": {
    question: "Are the addresses of nodes outside of the ClusterSet CIDR?",
    advice: "Choose another range with --clusterset-cidr, the same in all clusters.",
    evaluate: ({ platform: { nodes } }, { clustersetCidrs }) => {
      const inside = nodes.flatMap(({ name, addresses }) =>
        addresses
          .filter((text) => isIn(clustersetCidrs, text))
          .map((text) => `${text} of node ${name} is in the ClusterSet CIDR.`),
      );
      return inside.slice(0, 1).map((text) => fault(text));
    },
  },
  "network-plugin": {
    question: "Do packets of pods pass netfilter on their node?",
    advice:
      "Add the component preflight: agents then test it from pods (docs/guides/preflight.md).",
    evaluate: ({ platform: { plugins }, agents }) => {
      const names = plugins.map(({ name }) => name).join(", ");
      // What agents have measured is worth more than what settings say.
      const measured = podsReachRules(agents?.readings ?? []);
      if (measured === "yes") return [ok(`${names || "Agents"}: agents have tested it from pods.`)];
      if (plugins.length === 0) return [unknown("No known network plugin was found.")];
      return plugins.map(({ name, path, setting }) =>
        path === "netfilter"
          ? ok(name)
          : path === "bypass"
            ? warning(`With ${name} as it is set, packets of pods do not pass netfilter.`, setting)
            : unknown(`Whether packets of pods pass netfilter is not known of ${name}.`),
      );
    },
  },
  "kube-proxy": {
    question: "Does kube-proxy run in a mode that works beside the agent?",
    advice: "Use the mode nftables, iptables or ipvs.",
    evaluate: ({ platform: { proxy } }) =>
      proxy === "unknown"
        ? [
            unknown(
              "Neither kube-proxy nor its configuration was found.",
              "Any service proxy works that leaves connections to other addresses alone.",
            ),
          ]
        : proxy === "userspace"
          ? [warning("The mode userspace takes connections before the rules of the agent.")]
          : [ok(proxy === "replaced" ? "replaced by the network plugin" : proxy)],
  },
  dns: {
    question: "Can the DNS server serve clusterset.local, and may a join configure it?",
    advice: "See docs/guides/dns.md.",
    evaluate: ({ facts: { dns } }, { join }) => {
      const impossible = dnsFault(dns, join?.dns);
      if (impossible !== undefined) return [fault(impossible)];
      const choice = chooseDns(dns, join?.dns);
      const note = dnsNote(dns, choice);
      if (note === undefined) return [ok(dns.ownImage ?? dns.image)];
      return [
        choice.reason === "requested" && dns.ownImage === undefined ? ok(note) : warning(note, ""),
      ];
    },
  },
  "dns-cache": {
    question: "Does NodeLocal DNSCache forward clusterset.local?",
    advice:
      "Add the block that join prints to ConfigMap kube-system/node-local-dns (docs/guides/dns.md).",
    evaluate: ({ facts: { dns } }) => {
      if (dns.cacheAddresses === undefined) return undefined;
      // Besides kube-dns, the cache reads the stub domains of its ConfigMap.
      return dns.cacheHasZone === true || dns.kind === "kube-dns"
        ? [ok()]
        : [warning("Pods ask NodeLocal DNSCache first, which does not forward clusterset.local.")];
    },
  },
  "operating-system": {
    question: "Do all nodes run Linux, and take DaemonSets?",
    advice: "Run clients of ClusterSetIPs on other nodes: no agent runs on these.",
    evaluate: ({ platform: { nodes } }) => systemProblems(nodes),
  },
  processor: {
    question: "Do images exist for the processors of all nodes?",
    advice: "Build images for amd64 and arm64 (docs/guides/verify-release.md#arm64).",
    evaluate: ({ platform: { nodes } }) => processorProblems(nodes),
  },
  kernel: {
    question: "Is the kernel of each node new enough for the chosen backend?",
    advice: "Upgrade these nodes: until then, their agents use iptables.",
    evaluate: ({ platform: { nodes }, member }) => kernelProblems(nodes, member?.components ?? []),
  },
  components: {
    question: "Does the cluster have the components that it needs?",
    advice: "Give --component CONTEXT=NAME, besides the components that the cluster has.",
    evaluate: (cluster) => componentProblems(cluster),
  },
  agents: {
    question: "Does an agent work on each node?",
    advice: "See its log, and kubectl clusterset status.",
    evaluate: ({ agents }) => (agents === undefined ? undefined : agentProblems(agents)),
  },
  preflight: {
    question: "Do all checks of agents pass on their nodes?",
    advice: "See docs/guides/preflight.md.",
    evaluate: ({ agents }) => (agents === undefined ? undefined : nodeProblems(agents.readings)),
  },
  reach: {
    question: "Do connections of nodes reach pods of other clusters?",
    advice:
      "Admit and route the addresses of nodes (docs/guides/install.md#network-policies-for-nodes).",
    evaluate: ({ agents }) =>
      agents === undefined ? undefined : unreachedClusters(agents.readings),
  },
} as const satisfies Record<string, ClusterCheck>;

function about(check: MemberFault["about"], faults: readonly MemberFault[]): Outcome[] {
  // Its text says what to do.
  return faults.filter((one) => one.about === check).map(({ text }) => fault(text, ""));
}

function podRanges(
  { id, context, endpointCidrs, rangesFrom, facts }: Member,
  vips: readonly Cidr[],
) {
  const declared = rangesIn(endpointCidrs) ?? [];
  const both = [...owned(`pods of cluster ${id}`, declared), ...owned("the ClusterSet CIDR", vips)];
  const [outside] = facts.podCidrs.filter((one) => !declared.some((range) => isInside(one, range)));
  const found = [
    ...overlapsAmong(both).map(faultOf),
    ...(outside === undefined
      ? []
      : [
          warning(
            `podCIDRs of Nodes are outside ${endpointCidrs}, such as ${outside.text}: other clusters will reject endpoints there.`,
            `Give --endpoint-cidrs ${context}=RANGES.`,
          ),
        ]),
  ];
  return orOk(found, `${endpointCidrs} (${rangesFrom})`);
}

/** Bits of the largest Service range that API servers accept. */
const LARGEST_SERVICE_RANGE = { IPv4: 12, IPv6: 108 } as const;

function serviceRangeProblems(cluster: CheckedCluster, { clustersetCidrs }: CheckedSet): Outcome[] {
  const services = serviceRanges(cluster);
  if (services.length > 0) {
    const both = [
      ...owned(`Services of ${nameOf(cluster)}`, services),
      ...owned("the ClusterSet CIDR", clustersetCidrs),
    ];
    return orOk(overlapsAmong(both).map(faultOf), textOf(services));
  }
  const addresses = cluster.platform.kubernetesAddresses;
  const inside = addresses.find((text) => isIn(clustersetCidrs, text));
  if (inside !== undefined)
    return [fault(`${inside} of the Service default/kubernetes is in the ClusterSet CIDR.`)];
  // A range of Services that overlaps a larger one is inside of it, with this address.
  const isEnough = clustersetCidrs.every(
    ({ family, bits }) => bits <= LARGEST_SERVICE_RANGE[family],
  );
  if (isEnough && addresses.length > 0) return [ok(`${addresses.join(", ")} is outside`)];
  return [
    unknown(
      "The ranges of its Services are not known.",
      "Compare --service-cluster-ip-range of its API server with the ClusterSet CIDR.",
    ),
  ];
}

const faultOf = (text: string): Outcome =>
  fault(`${text}.`, "Choose ranges that no two of them share.");

/** The ranges of a cluster's Services; empty: unknown. PURE. */
export function serviceRanges({ facts, platform }: CheckedCluster): readonly Cidr[] {
  return facts.serviceCidrs.length > 0 ? facts.serviceCidrs : platform.serviceCidrs;
}

/** A cluster, in messages. PURE. */
export function nameOf({ member, context }: CheckedCluster): string {
  return member === undefined ? context : `cluster ${member.id}`;
}

/** True if an address is in one of some ranges. PURE. */
export function isIn(ranges: readonly Cidr[], text: string): boolean {
  const address = parseAddress(text);
  return isAddress(address) && containsAny(ranges, address);
}

function membersIn(clusters: readonly CheckedCluster[]): Member[] {
  return clusters.flatMap(({ member }) => member ?? []);
}

const textOf = (ranges: readonly Cidr[]): string => ranges.map(({ text }) => text).join(",");

/** What was found wrong, else that all is well. */
function orOk(found: Outcome[], well?: string): Outcome[] {
  return found.length > 0 ? found : [ok(well)];
}
