import assert from "node:assert/strict";
import { test } from "node:test";
import { restricted } from "../../common/kubernetes/inline-kubeconfig.ts";
import { withNames, withoutNames } from "../changes/core-dns.ts";
import { findingsOf, namesSupport, rejectedEndpoints } from "./findings.ts";
import { accessIn, isSameAccess, kubeconfigOf } from "./handovers.ts";
import type { Member } from "./members.ts";
import { aroundNodes, overlapsAmong, rangesIn, rangesText } from "./ranges.ts";
import { withTag } from "./workloads.ts";

function ranges(text: string) {
  return rangesIn(text) ?? assert.fail(`${text} has no ranges`);
}

test("the range around Nodes has the usual size, and is larger if they do not fit", () => {
  const around = (text: string) => rangesText(aroundNodes(ranges(text)));
  assert.equal(around("10.1.3.0/24,10.1.200.0/24"), "10.1.0.0/16");
  assert.equal(around("10.1.3.0/24,10.2.0.0/24"), "10.0.0.0/14");
  assert.equal(around("10.4.0.0/14"), "10.4.0.0/14");
  assert.equal(around("10.1.3.0/24,fd00:10:1:5::/64"), "10.1.0.0/16,fd00:10:1::/48");
  assert.deepEqual(aroundNodes([]), []);
});

test("a text with an invalid range has none", () => {
  for (const text of ["", "10.1.0.0", "10.1.0.1/16", "10.1.0.0/16,x"])
    assert.equal(rangesIn(text), undefined, text);
});

test("ranges of one owner may overlap, others are named", () => {
  const owned = (owner: string, text: string) => ranges(text).map((range) => ({ owner, range }));
  const found = overlapsAmong([
    ...owned("a", "10.0.0.0/8,10.1.0.0/16"),
    ...owned("b", "10.1.2.0/24,fd00::/48"),
  ]);
  assert.deepEqual(found, [
    "10.0.0.0/8 (a) overlaps 10.1.2.0/24 (b)",
    "10.1.0.0/16 (a) overlaps 10.1.2.0/24 (b)",
  ]);
});

const MEMBER = { context: "c1", endpointCidrs: "10.1.0.0/16" };

function exportOf(key: string) {
  const [namespace, name] = key.split("/");
  return { metadata: { namespace, name } };
}

function sliceOf(key: string, ...addresses: readonly string[]) {
  const [namespace, name] = key.split("/");
  return {
    metadata: { namespace, name: `${name}-1`, labels: { "kubernetes.io/service-name": name } },
    endpoints: addresses.map((address) => ({ addresses: [address] })),
  };
}

test("endpoints of exported Services outside the ranges are counted once each, with the first as an example", () => {
  const said = rejectedEndpoints(
    MEMBER,
    [exportOf("shop/web"), exportOf("edge/ingress")],
    [
      sliceOf("shop/web", "10.1.0.7", "172.16.0.2"),
      sliceOf("edge/ingress", "192.168.0.5", "192.168.0.4"),
      sliceOf("edge/ingress", "192.168.0.4"),
      sliceOf("edge/internal", "192.168.0.9"),
    ],
  );
  assert.match(
    said ?? "",
    /^c1: 2 exported Services have 3 endpoints outside 10\.1\.0\.0\/16, such as 192\.168\.0\.4 of edge\/ingress: /,
  );
});

test("nothing is said if all are inside, of another family, or not exported, and malformed objects are skipped", () => {
  const exports = [exportOf("shop/web"), null, {}];
  const slices = [
    sliceOf("shop/web", "10.1.0.7", "fd00::7", "nonsense"),
    sliceOf("other/web", "172.16.0.2"),
    ...[null, {}, { metadata: { namespace: "shop" }, endpoints: 7 }],
  ];
  assert.equal(rejectedEndpoints(MEMBER, exports, slices), undefined);
});

/** A cluster that may join, with this image of CoreDNS. */
function member(coreDns?: string): Member {
  return {
    ...{ id: "c1", context: "c1", endpointCidrs: "10.1.0.0/16", rangesFrom: "given" },
    ...{ server: "https://c1.example:6443", components: [] },
    facts: {
      ...{ context: "c1", address: "https://c1.example:6443", minor: 33, uid: "1" },
      ...{ nodeRegions: [], podCidrs: [], serviceCidrs: [], images: {}, components: [], peers: [] },
      ...(coreDns !== undefined && { coreDns }),
    },
  };
}

function found(coreDns: string | undefined, dns = true) {
  const set = { id: "prod", mode: "mesh", hub: undefined, clustersetCidrs: [] } as const;
  return findingsOf({ ...set, members: [member(coreDns)], manifests: true, dns });
}

test("a CoreDNS that would not start with clusterset.local stops a join before anything is written, unless it is left alone", () => {
  const { faults } = found("eks/coredns:v1.11.4-eksbuild.2");
  assert.match(faults.join(), /^c1: eks\/coredns:v1\.11\.4-eksbuild\.2 .*1\.12\.2.*--no-dns/);
  assert.deepEqual(found("eks/coredns:v1.11.4-eksbuild.2", false), { faults: [], warnings: [] });
  for (const one of ["coredns:1.12.2", undefined]) {
    assert.deepEqual(found(one), { faults: [], warnings: [] });
  }
});

test("a version that an image does not show is a warning", () => {
  const { faults, warnings } = found("registry:5000/dns@sha256:0123");
  assert.deepEqual(faults, []);
  assert.match(warnings.join(), /^c1: the version of registry:5000\/dns@sha256:0123 is not known/);
});

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

const BEFORE = ".:53 {\n    errors\n}\n";

test("the block is added once, and removed without a trace", () => {
  const after = withNames(BEFORE);
  assert.match(after, /^clusterset\.local:53 \{$/m);
  assert.equal(withNames(after), after);
  assert.equal(withoutNames(after), BEFORE);
  assert.equal(withNames(`${after}other:53 {\n}\n`).match(/clusterset\.local:53/g)?.length, 1);
});

test("the tag is replaced, and a registry's port is none", () => {
  assert.equal(
    withTag("registry:5000/team/agent:0.1.0", "0.2.0"),
    "registry:5000/team/agent:0.2.0",
  );
  assert.equal(withTag("registry:5000/agent", "0.2.0"), "registry:5000/agent:0.2.0");
  assert.equal(withTag("agent@sha256:1234", "0.2.0"), undefined);
});

const ACCESS = { server: "https://10.0.0.1:6443", token: "secret", ca: "Q0E=" };

test("a controller accepts the kubeconfig, and it is read back as it was written", () => {
  const text = kubeconfigOf(ACCESS);
  assert.match(restricted({ text, from: "test" }), /10\.0\.0\.1:6443.*secret/);
  assert.deepEqual(accessIn(text), ACCESS);
});

test("access is the same in another spelling, but not with another address or token", () => {
  assert.ok(isSameAccess(ACCESS, accessIn(JSON.stringify(accessDocument()))));
  assert.ok(!isSameAccess({ ...ACCESS, server: "https://10.0.0.2:6443" }, ACCESS));
  assert.ok(!isSameAccess({ ...ACCESS, token: "another" }, ACCESS));
  assert.ok(!isSameAccess(ACCESS, accessIn("not: a kubeconfig")));
});

function accessDocument() {
  const { server, token } = ACCESS;
  return {
    clusters: [{ name: "a", cluster: { server } }],
    users: [{ name: "a", user: { token } }],
  };
}
