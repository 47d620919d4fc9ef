import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import {
  chooseDns,
  type DnsObjects,
  dnsFault,
  hasOtherBlock,
  namesSupport,
  recognizeDns,
  withForward,
  withNames,
  withoutNames,
} from "./dns.ts";
import type { ClusterDns, DnsKind } from "./dns-server.ts";
import { DNS_OWN } from "./manifests.ts";
import { cacheStubDomain, stubDomain } from "./stub-domain.ts";

// Which DNS server a cluster has, what join does with it, and what it leaves to the user.

const IMAGES = [
  ["registry.k8s.io/coredns/coredns:v1.12.1", "no"],
  ["registry.k8s.io/coredns/coredns:v1.12.2", "yes"],
  ["602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/coredns:v1.11.4-eksbuild.2", "no"],
  ["rancher/mirrored-coredns-coredns:1.14.0", "yes"],
  ["registry:5000/coredns:1.9.3@sha256:0123", "no"],
  ["coredns/coredns:2.0.0", "yes"],
  ["registry:5000/coredns@sha256:0123", "unknown"],
  ["registry:5000/coredns", "unknown"],
  ["lab.local/coredns:1", "unknown"],
  ["", "unknown"],
] as const;

test("the tag of an image says whether CoreDNS serves clusterset.local; other tags and digests say nothing", () => {
  for (const [image, wanted] of IMAGES) assert.equal(namesSupport(image), wanted, image);
});

const COREFILE = ".:53 {\n    errors\n}\n";

test("the block is added once, replaced by the one that forwards, and removed without a trace", () => {
  const served = withNames(COREFILE);
  assert.match(served, /^clusterset\.local:53 \{\n[^}]*multicluster/m);
  assert.equal(withNames(served), served);
  const forwarded = withForward(served, "10.96.7.7");
  assert.match(forwarded, /^ {4}forward \. 10\.96\.7\.7$/m);
  assert.doesNotMatch(forwarded, /multicluster/);
  for (const one of [served, forwarded]) assert.equal(withoutNames(one), COREFILE);
  assert.equal(withNames(`${served}other:53 {\n}\n`).match(/clusterset\.local:53/g)?.length, 1);
});

test("another block for the zone is found, whatever it forwards to, and ours and plugins that name the zone are none", () => {
  const others = [
    "clusterset.local:53 {\n    forward . 10.1.2.3\n}\n",
    "#lighthouse-start\nclusterset.local {\n    forward . 10.1.2.3\n}\n#lighthouse-end\n",
    "dns://ClusterSet.local.:53 {\n}\n",
    "a.example:53, clusterset.local {\n}\n",
  ];
  for (const one of others) {
    assert.ok(hasOtherBlock(COREFILE + one), one);
    assert.ok(hasOtherBlock(one + COREFILE), one);
    assert.ok(hasOtherBlock(withNames(one)), one);
  }
  for (const one of [
    COREFILE,
    withNames(COREFILE),
    ".:53 {\n    kubernetes cluster.local clusterset.local {\n        multicluster clusterset.local\n    }\n}\n",
    ".:53 {\n}\n# clusterset.local:53 {\nclusterset.local:5353 {\n}\nmy.clusterset.local:53 {\n}\n",
  ])
    assert.ok(!hasOtherBlock(one), one);
});

const NONE: DnsObjects = {
  ...{ coreDns: undefined, corefile: undefined, kubeDns: undefined, rke2: undefined },
  ...{ openshift: undefined, nodeLocal: undefined, own: undefined, others: [] },
};

function workload(image: string, marks: object = {}, name = "coredns"): object {
  const containers = [{ name, image }];
  return { metadata: marks, spec: { template: { spec: { containers } } } };
}

/** CoreDNS and its ConfigMap, with these labels or annotations. */
function coreDns(image: string, Corefile = COREFILE, metadata: object = {}): Partial<DnsObjects> {
  return { coreDns: workload(image, metadata), corefile: { metadata, data: { Corefile } } };
}

const EKS = { labels: { "eks.amazonaws.com/component": "coredns", "k8s-app": "kube-dns" } };
const K3S = { annotations: { "objectset.rio.cattle.io/owner-name": "coredns" } };
const AKS = { labels: { "addonmanager.kubernetes.io/mode": "Reconcile" } };
const HELM = { labels: { "app.kubernetes.io/managed-by": "Helm" } };
const K0S = { labels: { "k0s.k0sproject.io/stack": "coredns" } };
const ARGO = { labels: { "app.kubernetes.io/instance": "dns" } };
const ZONE = { data: { Corefile: "clusterset.local:53 {" } };
const managedBy = (manager: string) => ({ managedFields: [{ manager }] });
const [NEW, OLD, UNKNOWN] = ["coredns:v1.14.0", "coredns:1.11.1", "r/c@sha256:1"];
const CUSTOM = `${COREFILE}import /etc/coredns/custom/*.server\n`;
const SERVES = withNames(COREFILE);
const FORWARDS = withForward(COREFILE, "10.96.7.7");
/** A block that forwards to the CoreDNS that join made. */
const forwarding = (image: string) => ({ ...coreDns(image, FORWARDS), own: workload(NEW) });
const FORWARDED = { block: "forwards", ownImage: NEW } as const;
const TOOL = "a tool that deploys it";
const NODE_LOCAL = {
  data: { Corefile: "cluster.local:53 {\n    bind 169.254.20.10 10.96.0.10 $(reboot)\n}\n" },
};

/** A cluster as platforms have it, what its DNS server is besides `coredns` of an image, and why join takes it or not. */
type ClusterRow = readonly [name: string, Partial<DnsObjects>, Partial<ClusterDns>, choice: string];

const CLUSTERS: readonly ClusterRow[] = [
  ["kubeadm", coreDns(NEW), {}, "existing supported"],
  ["kubeadm, 1.34", coreDns("coredns:v1.12.1"), {}, "own too-old forwards"],
  ["CoreDNS without a version", coreDns(UNKNOWN), {}, "own version-unknown"],
  ["our block, unknown version", coreDns(UNKNOWN, SERVES), { block: "serves" }, "existing in-use"],
  ["our block, older since", coreDns(OLD, SERVES), { block: "serves" }, "own too-old forwards"],
  ["a block that forwards", forwarding(OLD), FORWARDED, "own too-old forwards"],
  ["a block that forwards, newer since", forwarding(NEW), FORWARDED, "own in-use forwards"],
  ["one, unknown since", forwarding(UNKNOWN), FORWARDED, "own version-unknown forwards"],
  [
    "K3s with our block, and an older CoreDNS since",
    coreDns(OLD, withNames(CUSTOM), K3S),
    { kind: "coredns-custom", owner: "K3s", block: "serves" },
    "own too-old forwards",
  ],
  ["EKS", coreDns(NEW, COREFILE, EKS), { kind: "eks", owner: "EKS" }, "own owned"],
  ["K3s", coreDns(NEW, CUSTOM, K3S), { kind: "coredns-custom", owner: "K3s" }, "own owned"],
  [
    "AKS",
    coreDns(NEW, CUSTOM, AKS),
    { kind: "coredns-custom", owner: "the platform's addon manager" },
    "own owned",
  ],
  ["a Corefile of a chart", coreDns(OLD, COREFILE, HELM), { owner: TOOL }, "own too-old"],
  ["k0s", coreDns(NEW, COREFILE, K0S), { owner: "k0s" }, "own owned"],
  ["Argo CD 2", coreDns(NEW, COREFILE, ARGO), { owner: TOOL }, "own owned"],
  [
    "Terraform",
    coreDns(NEW, COREFILE, managedBy("Terraform")),
    { owner: "Terraform" },
    "own owned",
  ],
  ["kubeadm, edited", coreDns(NEW, COREFILE, managedBy("kubectl-edit")), {}, "existing supported"],
  [
    "K3s and a cache that forward",
    { ...coreDns(NEW, CUSTOM, K3S), others: [ZONE], nodeLocal: ZONE },
    { kind: "coredns-custom", owner: "K3s", hasZone: true, cacheHasZone: true, cacheAddresses: [] },
    "own owned",
  ],
  ["RKE2", { rke2: workload(NEW) }, { kind: "rke2", owner: "RKE2" }, "own owned"],
  [
    "OpenShift",
    { openshift: workload(UNKNOWN, {}, "dns") },
    { kind: "openshift", owner: "the DNS operator" },
    "own owned",
  ],
  ["GKE", { kubeDns: workload("k:1", {}, "kubedns") }, { kind: "kube-dns" }, "own no-coredns"],
  ["a DNS server that is not known", {}, { kind: "unknown" }, "own no-coredns"],
  [
    "NodeLocal DNSCache",
    { ...coreDns(NEW), nodeLocal: NODE_LOCAL },
    { cacheAddresses: ["169.254.20.10", "10.96.0.10"] },
    "existing supported",
  ],
];

for (const [name, objects, more, choice] of CLUSTERS)
  test(`${name}: ${choice}`, () => {
    const dns = recognizeDns({ ...NONE, ...objects });
    const { coreDns, rke2, openshift } = objects;
    const image = /"image":"([^"]*)/.exec(JSON.stringify(coreDns ?? rke2 ?? openshift) ?? "")?.[1];
    assert.deepEqual(dns, { kind: "coredns", ...(image && { image }), ...more });
    const { way, reason, forwards } = chooseDns(dns);
    assert.equal([way, reason, ...(forwards ? ["forwards"] : [])].join(" "), choice);
    // A user cannot have a Corefile changed that join would leave.
    const fault = dnsFault(dns, "existing");
    assert.equal(fault === undefined, way === "existing" || reason === "in-use", fault);
    for (const one of ["own", "none", undefined] as const)
      assert.equal(dnsFault(dns, one), undefined);
  });

const ADDRESS = "10.96.0.53";
const KINDS = ["coredns", "coredns-custom", "eks", "kube-dns", "openshift", "rke2"] as const;
const CACHE = { cacheAddresses: ["169.254.20.10", "10.96.0.10"] };
const GUIDE = readFileSync(join(import.meta.dirname, "../../docs/guides/dns.md"), "utf8");

/** The lines of a kind of DNS server as its program reads them, at the place where they are. */
const READ: Readonly<Record<(typeof KINDS)[number], (lines: string) => unknown>> = {
  coredns: (lines) => lines,
  "coredns-custom": (lines) => parse(lines).data["clusterset.server"],
  eks: (lines) => lines,
  "kube-dns": (lines) => JSON.parse(parse(lines).data.stubDomains)["clusterset.local"][0],
  openshift: (lines) => parse(lines).spec.servers[0],
  rke2: (lines) => parse(parse(lines).spec.valuesContent).servers[1],
};

test("each kind of DNS server reads the stub domain that join prints, and the guide has the same lines", () => {
  const read = Object.fromEntries(
    KINDS.map((kind) => [kind, READ[kind](stubDomain(kind, ADDRESS).lines)]),
  ) as Record<DnsKind, unknown>;
  const block = `clusterset.local:53 {\n    errors\n    cache 5\n    forward . ${ADDRESS}\n}`;
  assert.deepEqual(read, {
    ...{ coredns: block, "coredns-custom": `${block}\n`, eks: block, "kube-dns": ADDRESS },
    openshift: {
      ...{ name: "clusterset", zones: ["clusterset.local"] },
      forwardPlugin: { upstreams: [ADDRESS] },
    },
    rke2: {
      ...{ zones: [{ zone: "clusterset.local" }], port: 53 },
      plugins: [
        { name: "errors" },
        { name: "cache", parameters: 5 },
        { name: "forward", parameters: `. ${ADDRESS}` },
      ],
    },
  });
  for (const kind of KINDS) assert.ok(GUIDE.includes(stubDomain(kind, ADDRESS).lines), kind);
  assert.ok(stubDomain("unknown", ADDRESS).lines.includes(ADDRESS));
});

test("NodeLocal DNSCache gets the block with the addresses that it binds to", () => {
  const { lines } = cacheStubDomain(CACHE, ADDRESS);
  assert.match(lines, /^ {4}bind 169\.254\.20\.10 10\.96\.0\.10\n/m);
  assert.match(lines, /^ {4}forward \. 10\.96\.0\.53\n\}$/m);
  assert.ok(GUIDE.includes(lines));
  assert.doesNotMatch(cacheStubDomain({}, ADDRESS).lines, /bind/);
});

test("the CoreDNS of the clusterset serves the zone as the block of another CoreDNS does", () => {
  const config = DNS_OWN.find(({ kind }) => kind === "ConfigMap") as unknown as {
    data: { Corefile: string };
  };
  const lines = (text: string) => text.split("\n").map((line) => line.trim());
  const own = lines(config.data.Corefile);
  const served = lines(withNames("")).filter((line) => !/^#|:53 \{$/.test(line));
  const missing = served.filter((line) => !own.includes(line));
  assert.deepEqual(missing, []);
});
