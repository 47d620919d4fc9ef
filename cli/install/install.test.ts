import assert from "node:assert/strict";
import { test } from "node:test";
import { restricted } from "../../common/kubernetes/inline-kubeconfig.ts";
import { rejectedEndpoints } from "./findings.ts";
import { accessIn, isSameAccess, kubeconfigOf } from "./handovers.ts";
import { aroundNodes, overlapsAmong, rangesIn, rangesText } from "./ranges.ts";
import { imagesAt, withTag } from "./workloads.ts";

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
    /^2 exported Services have 3 endpoints outside 10\.1\.0\.0\/16, such as 192\.168\.0\.4 of edge\/ingress: /,
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

test("the tag is replaced, and a registry's port is none", () => {
  assert.equal(
    withTag("registry:5000/team/agent:0.1.0", "0.2.0"),
    "registry:5000/team/agent:0.2.0",
  );
  assert.equal(withTag("registry:5000/agent", "0.2.0"), "registry:5000/agent:0.2.0");
  assert.equal(withTag("agent@sha256:1234", "0.2.0"), undefined);
  assert.equal(withTag("r:5/agent:0.2.0@sha256:1", "0.2.0"), "r:5/agent:0.2.0@sha256:1");
  assert.equal(withTag("agent:0.1.0@sha256:1234", "0.2.0"), undefined);
});

test("an image that is named by a digest needs a flag for new manifests, in join as in upgrade", () => {
  const [agent, controller] = ["r/clusterset-agent:1", "r/clusterset-controller@sha256:1"];
  const present = { "clusterset-agent": agent, "clusterset-controller": controller };
  const { images, faults } = imagesAt("9.9.9", present, {});
  assert.deepEqual(images, { "clusterset-agent": "r/clusterset-agent:9.9.9" });
  assert.equal(faults.length, 1);
  assert.match(faults[0] ?? "", /sha256:1 is named by a digest: .* 9\.9\.9 \(--controller-image\)/);
  assert.deepEqual(imagesAt("9.9.9", present, present), { images: present, faults: [] });
  assert.deepEqual(imagesAt("9.9.9", {}, {}), { images: {}, faults: [] });
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
