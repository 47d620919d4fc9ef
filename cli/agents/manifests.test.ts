import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldAt } from "../../api/parse/fields.ts";
import { importObject } from "../../test/generators/objects.ts";
import { withManifests } from "./manifests.ts";

const WEB = importObject("shop/web", ["241.0.0.1"], [{ name: "http", port: 80 }]);
const OBJECTS = { imports: [WEB], slices: [], properties: [], holders: [], nodes: [] };

function applied(text: string) {
  const result = withManifests(OBJECTS, [{ name: "web.yaml", text }]);
  assert.ok(typeof result !== "string", JSON.stringify(result));
  return result;
}

test("a manifest changes the fields that it names, and leaves the VIP as it is", () => {
  const { objects, applied: names } = applied(`
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: { name: web, namespace: shop, annotations: { "clusterset-proxy.io/min-ready": "2" } }
`);
  const [web] = objects.imports as unknown[];
  assert.deepEqual(fieldAt(web, "spec", "ips"), ["241.0.0.1"]);
  assert.equal(fieldAt(web, "metadata", "annotations", "clusterset-proxy.io/min-ready"), "2");
  assert.deepEqual([...names], ["ServiceImport shop/web"]);
  assert.equal(
    fieldAt(WEB, "metadata", "annotations"),
    undefined,
    "the present object is as it was",
  );
});

test("other objects are added, items of lists too, and kinds that agents do not read are named", () => {
  const { objects, ignored } = applied(`
kind: List
items:
- { kind: ServiceImport, metadata: { name: api } }
- { kind: Deployment, metadata: { name: web, namespace: shop } }
`);
  assert.equal((objects.imports as unknown[]).length, 2);
  assert.deepEqual(ignored, ["Deployment shop/web"]);
});

test("a file that is no YAML, or an object without a name, is an error that names the file", () => {
  for (const text of ["a: [", "kind: ServiceImport", "- 1"]) {
    const result = withManifests(OBJECTS, [{ name: "web.yaml", text }]);
    assert.match(JSON.stringify(result), /^"web\.yaml: /);
  }
});
