import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeCheck } from "../../api/agent-page.ts";
import type { Cidr } from "../../api/cidr.ts";
import { exitCodeOf } from "../exit-code.ts";
import { type ClusterFacts, NO_FLAGS } from "../install/members.ts";
import { rangesIn } from "../install/ranges.ts";
import { PLAIN } from "../output/table.ts";
import type { ProbeResults } from "../reach/report.ts";
import type { CheckedCluster, CheckedSet, JoinRequest } from "./finding.ts";
import { findingsOf, findingTables } from "./findings.ts";
import { recognizePlatform } from "./platform.ts";
import type { PlatformObjects } from "./platform-objects.ts";
import { placed } from "./read-cluster.ts";

// What is wrong with clusters, by facts: each broken set-up is found by the name of its check, and a good one reports nothing.

const daemonSets = (...names: readonly string[]) => names.map((name) => ({ metadata: { name } }));
const configMap = (data: Readonly<Record<string, string>>) => ({ data });
const cidrs = (text: string): readonly Cidr[] => rangesIn(text) ?? assert.fail(text);

function node(address: string, info: object = {}, labels: object = {}) {
  const linux = { operatingSystem: "linux", architecture: "amd64", kernelVersion: "6.1.0-28" };
  const status = { nodeInfo: { ...linux, ...info }, addresses: [{ type: "InternalIP", address }] };
  return { metadata: { name: "n1", labels }, status };
}

const NEW = { kind: "coredns", image: "coredns:v1.12.2" } as const;
const EKS = { ...NEW, kind: "eks", owner: "EKS" } as const;
const OLD = { kind: "coredns", image: "coredns:v1.11.4" } as const;

function factsOf(id: string, octet: number): ClusterFacts {
  const found = { ranges: cidrs(`10.${octet}.0.0/16`), from: "flannel" };
  return {
    ...{ context: id, address: `https://${id}`, minor: 33, uid: id, nodeRegions: ["eu"], found },
    ...{ podCidrs: cidrs(`10.${octet}.1.0/24`), serviceCidrs: cidrs("10.96.0.0/16") },
    ...{ images: {}, components: [], peers: [], dns: NEW },
  };
}

function objectsOf(octet: number): PlatformObjects {
  return {
    ...{ gitVersion: "v1.33.4", unread: [], nodes: [node(`172.20.${octet}.1`)] },
    daemonSets: daemonSets("kube-flannel-ds", "kube-proxy"),
    kubeProxy: configMap({ "config.conf": "mode: nftables" }),
  };
}

/** What differs from a good cluster: facts, else objects of the platform, else what is named. */
interface Difference extends Partial<ClusterFacts> {
  readonly objects?: Partial<PlatformObjects>;
  readonly missingRights?: readonly string[];
  readonly exported?: CheckedCluster["exported"];
  /** Checks of the agent of its node. */
  readonly checks?: readonly NodeCheck[];
  readonly desired?: number;
  /** Of its agents. */
  readonly agentCidrs?: readonly Cidr[];
  readonly join?: Partial<JoinRequest>;
  /** Facts of the other cluster. */
  readonly other?: Partial<ClusterFacts>;
  readonly clustersetCidrs?: readonly Cidr[];
  /** Errors of attempts of pods of c1 to pods of c2; those of c2 succeed. */
  readonly errors?: readonly string[];
}

/** Two good clusters, except for what differs in the first one. */
function setOf(difference: Difference): CheckedSet {
  const { objects, checks, desired, other, join, exported, missingRights, ...more } = difference;
  const { clustersetCidrs = cidrs("241.0.0.0/8"), agentCidrs, errors, ...facts } = more;
  const page = { version: "1", backend: "nftables", oldestChangeSeconds: 0, checks: checks ?? [] };
  const readings = [{ pod: "agent-1", node: "n1", ready: true, page }];
  const one = {
    facts: { ...factsOf("c1", 1), ...facts },
    platform: recognizePlatform({ ...objectsOf(1), ...objects }),
    ...(missingRights !== undefined && { missingRights }),
    ...(exported !== undefined && { exported }),
    ...(agentCidrs !== undefined && { clustersetCidrs: agentCidrs }),
    ...((checks ?? desired) !== undefined && { agents: { readings, desired: desired ?? 1 } }),
  };
  const two = {
    facts: { ...factsOf("c2", 2), ...other },
    platform: recognizePlatform(objectsOf(2)),
  };
  const named = [one, two].map((cluster) => ({ ...cluster, context: cluster.facts.context }));
  return {
    ...{ clusters: placed(named, NO_FLAGS, undefined), flags: NO_FLAGS, clustersetCidrs },
    ...(errors !== undefined && { probes: probesWith(errors) }),
    ...(join !== undefined && { join: { id: "prod", manifests: true, ...join } }),
  };
}

function probesWith(errors: readonly string[]): ProbeResults {
  const toPod = (to: string) => ({ to, kind: "pod", isConnected: false, ms: 1 }) as const;
  const reached = [
    { from: "c1", attempts: errors.map((error) => ({ ...toPod("c2"), error })) },
    { from: "c2", attempts: [toPod("c1")] },
  ];
  return { reached, addresses: new Map(), faults: [] };
}

/** What is not ok: `CHECK fault|warning|unknown: TEXTS`. */
function problemsOf(difference: Difference): string[] {
  return findingsOf(setOf(difference))
    .filter(({ result }) => result !== "ok")
    .map((one) => {
      const how = one.result === "unknown" ? "unknown" : one.severity;
      return `${one.check} ${how}: ${one.found} ${one.advice}`;
    });
}

const BPF = { "kube-proxy-replacement": "true", "enable-bpf-masquerade": "true" };
const EBPF = { daemonSets: daemonSets("cilium"), ciliumConfig: configMap(BPF) };
const CALICO = { daemonSets: daemonSets("calico-node", "kube-proxy") };
const AMAZON = { "eks.amazonaws.com/compute-type": "fargate" };
const RANGE = { serviceCidrs: [] };
const at = (address: string) => ({ kubernetesService: { spec: { clusterIPs: [address] } } });
const failing = (name: string) => ({ name, state: "failing", detail: "here" }) as const;
const BLIND = { name: "preflight-reach-IPv4", state: "unknown", reason: "blind" } as const;
const OK = { name: "preflight-pods-IPv4", state: "ok" } as const;
const peer = (cluster: string, endpointCidrs: string) => ({ cluster, secret: "s", endpointCidrs });
const member = (clusterId: string, ...peers: ClusterFacts["peers"][number][]) =>
  ({ clusterId, clusterSet: "prod", mode: "mesh", peers }) as const;
const WEB = { metadata: { namespace: "shop", name: "web" } };
const SLICE = {
  metadata: { namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
  endpoints: [{ addresses: ["172.20.1.1"] }],
};
const proxy = (mode: string) => ({ kubeProxy: configMap({ config: `mode: ${mode}` }) });
const on = (...nodes: readonly object[]) => ({ objects: { nodes } });

const BROKEN: readonly (readonly [RegExp, Difference])[] = [
  [/^kubernetes fault: .*1\.23 is older than 1\.24/, { minor: 23 }],
  [/^rights warning: .*not create namespaces/, { missingRights: ["not create namespaces"] }],
  [/^rights unknown: DaemonSets/, { objects: { unread: ["DaemonSets"] } }],
  [/^cluster-id fault: .*not a cluster ID.*--id/, { context: "arn:aws:eks/one" }],
  [/^region fault: .*eu, us.*--region c1=/, { nodeRegions: ["eu", "us"] }],
  [/^clusterset fault: .*of clusterset test, not prod/, { clusterSet: "test", join: {} }],
  [/^clusterset fault: .*uses a hub/, { mode: "hub", join: {} }],
  [/^peers warning: .*peer c9/, { peers: [peer("c9", "10.9.0.0/16")] }],
  [/^peer-facts fault: c2 has 10\.9\./, { other: { peers: [peer("c1", "10.9.0.0/16")] } }],
  [/^pod-ranges warning: .*10\.7\.1.*--endpoint-cidrs c1=/, { podCidrs: cidrs("10.7.1.0/24") }],
  [/^pod-ranges fault: .*overlaps 10\.1\./, { clustersetCidrs: cidrs("10.1.0.0/20") }],
  [/^exported-endpoints warning: .*shop\/web/, { exported: { exports: [WEB], slices: [SLICE] } }],
  [/^service-ranges fault: .*241\.7\./, { serviceCidrs: cidrs("241.7.0.0/16") }],
  [/^service-ranges unknown: .*service-cluster-ip-range/, RANGE],
  [/^service-ranges fault: 241/, { ...RANGE, objects: at("241.0.0.1") }],
  [/^clusterset-cidr warning: .*242\.0\.0\.0\/8, not/, { agentCidrs: cidrs("242.0.0.0/8") }],
  [/^node-addresses fault: 241\.9\.0\.1/, on(node("241.9.0.1"))],
  [/^network-plugin warning: .*Cilium.*hostLegacyRouting/, { objects: EBPF }],
  [
    /^network-plugin warning: .*Calico.*linuxData/,
    { objects: { ...CALICO, felix: { spec: { bpfEnabled: true } } } },
  ],
  [/^network-plugin warning: .*Dataplane V2/, { objects: { daemonSets: daemonSets("anetd") } }],
  [/^network-plugin warning: .*ViaHost/, { objects: { daemonSets: daemonSets("ovnkube-node") } }],
  [/^network-plugin unknown: No known/, { objects: { daemonSets: daemonSets("kube-proxy") } }],
  [/^kube-proxy unknown: Neither/, { objects: { daemonSets: [], kubeProxy: undefined } }],
  [/^kube-proxy warning: .*userspace/, { objects: proxy("userspace") }],
  [/^dns warning: .*v1\.11\.4 does not .* 1\.12\.2 does\. Its CoreDNS gets a block/, { dns: OLD }],
  [/^dns warning: .*EKS overwrites the Corefile\. join prints what you have to add/, { dns: EKS }],
  [/^dns warning: .*has to forward clusterset\.local/, { dns: { ...EKS, ownImage: "c:1" } }],
  [/^dns fault: --dns existing .*--dns own/, { dns: OLD, join: { dns: "existing" } }],
  [/^dns-cache warning: .*NodeLocal/, { dns: { ...NEW, cacheAddresses: [] } }],
  [/^operating-system warning: 1 node/, on(node("172.20.1.2", { operatingSystem: "windows" }))],
  [/^processor warning: .*s390x/, on(node("172.20.1.1", { architecture: "s390x" }))],
  [
    /^kernel warning: .*5\.13/,
    { components: ["nftables"], ...on(node("172.20.1.1", { kernelVersion: "5.4.0" })) },
  ],
  [/^components warning: .*Calico.*--component c1=net-raw/, { objects: CALICO }],
  [/^components warning: .*kube-proxy in ipvs mode/, { objects: proxy("ipvs") }],
  [
    /^components warning: .*Fargate.*--component c1=ipvs --component c1=eks/,
    {
      components: ["ipvs"],
      objects: { gitVersion: "v1.33.4-eks-abc", ...on(node("172.20.1.1", {}, AMAZON)).objects },
    },
  ],
  [/^agents fault: 2 nodes without a pod/, { desired: 3 }],
  [/^agents fault: n1: not-ready: sync/, { checks: [failing("sync")] }],
  [
    /^preflight warning: n1: .*no-route: here/,
    { checks: [{ ...failing("preflight-route-IPv4"), reason: "no-route" }] },
  ],
  [/^reach unknown: n1: .*blind/, { checks: [BLIND] }],
  [/^identities fault: .*contexts of the same cluster/, { other: { uid: "c1" } }],
  [/^same-clusterset warning: .*c2 of test/, { clusterSet: "prod", other: { clusterSet: "test" } }],
  [
    /^knows-the-other warning: .*c1 has no Secret.*c2/,
    { ...member("c1"), other: member("c2", peer("c1", "10.1.0.0/16")) },
  ],
  [
    /^ranges-of-pods fault: 10\.2\..*overlaps 10\.2\./,
    { found: { ranges: cidrs("10.2.0.0/16"), from: "" } },
  ],
  [/^ranges-of-services warning: .*Services of cluster c1/, { serviceCidrs: cidrs("10.2.0.0/16") }],
  [/^addresses-of-nodes warning: 10\.2\.0\.1 of node n1/, on(node("10.2.0.1"))],
  [/^reachability fault: pods of c1 .*pods of c2: timeout/, { errors: ["ETIMEDOUT"] }],
  [/^reachability unknown: What pods of c1/, { errors: [] }],
  [
    /^ip-families warning: .*IPv6.*IPv4/,
    { found: { ranges: cidrs("fd00:1::/48"), from: "" }, podCidrs: [] },
  ],
];

for (const [finding, difference] of BROKEN)
  test(`check finds ${finding.source.slice(1)}`, () => {
    const found = problemsOf(difference);
    assert.ok(
      found.some((one) => finding.test(one)),
      found.join("\n"),
    );
  });

/** Set-ups in which nothing is wrong. */
const GOOD: Readonly<Record<string, Difference>> = {
  "flannel, and kube-proxy in nftables mode": {},
  "members whose agents found nothing": {
    ...{ ...member("c1", peer("c2", "10.2.0.0/16")), checks: [OK] },
    other: member("c2", peer("c1", "10.1.0.0/16")),
  },
  "Cilium with the kernel's routing": {
    objects: { ...EBPF, ciliumConfig: configMap({ ...BPF, "enable-host-legacy-routing": "true" }) },
  },
  "Cilium whose agents saw packets of pods": { objects: EBPF, checks: [OK] },
  "Calico with net-raw": { objects: CALICO, components: ["net-raw"] },
  "an own CoreDNS, and a cache that forwards": {
    dns: { ...OLD, ownImage: "c:1", block: "forwards", cacheAddresses: [], cacheHasZone: true },
  },
  "a DNS server of a platform that forwards": { dns: { ...EKS, ownImage: "c:1", hasZone: true } },
  "ranges of Services known by an address": { ...RANGE, objects: at("10.96.0.1") },
};

for (const [name, difference] of Object.entries(GOOD))
  test(`check reports nothing of ${name}`, () => assert.deepEqual(problemsOf(difference), []));

test("pairs with the same result share a row, and a terminal's width is kept", () => {
  const findings = findingsOf(setOf({ serviceCidrs: cidrs("10.2.0.0/16") }));
  assert.equal(exitCodeOf(findings.map(({ severity }) => severity)), 3);
  const [ofOne = "", ofTwo = ""] = findingTables(findings, { ...PLAIN, columns: 80 }).map(String);
  assert.match(ofOne, /^c1 +kubernetes +ok +v1\.33\.4$/m);
  assert.match(ofTwo, /^c1, c2 +ranges-of-pods +ok$/m);
  assert.match(ofTwo, /^c1, c2 +ranges-of-services +failing +10\.2\.0\.0/m);
  for (const line of `${ofOne}${ofTwo}`.split("\n")) assert.ok(line.length <= 80, line);
});
