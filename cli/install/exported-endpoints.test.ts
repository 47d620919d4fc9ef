import assert from "node:assert/strict";
import { test } from "node:test";
import { rejectedEndpoints } from "./exported-endpoints.ts";

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
