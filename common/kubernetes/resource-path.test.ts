import assert from "node:assert/strict";
import { test } from "node:test";
import { listPath, watchPath } from "./resource.ts";

const SLICES = { group: "discovery.k8s.io", versions: ["v1"], resource: "endpointslices" };

test("a query of one namespace lists and watches inside it alone", () => {
  const query = { ...SLICES, namespace: "shop", labelSelector: "a=b" };
  const path = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
  assert.equal(listPath(query, "v1", { limit: 5 }), `${path}?labelSelector=a%3Db&limit=5`);
  const watch = new URL(watchPath(query, "v1", 9, "7"), "http://x");
  assert.equal(watch.pathname, path);
  assert.equal(watch.searchParams.get("resourceVersion"), "7");
});

test("a query without a namespace is one of all, and a name cannot leave its place in the path", () => {
  const list = (namespace: string) =>
    listPath({ group: "", versions: ["v1"], resource: "secrets", namespace }, "v1", { limit: 1 });
  assert.match(
    listPath(SLICES, "v1", { limit: 1 }),
    /^\/apis\/discovery.k8s.io\/v1\/endpointslices\?/,
  );
  assert.equal(list("shop"), "/api/v1/namespaces/shop/secrets?limit=1");
  assert.equal(list("../x?"), "/api/v1/namespaces/..%2Fx%3F/secrets?limit=1");
});
