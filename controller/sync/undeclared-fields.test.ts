import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { Manifest } from "../model/manifest.ts";
import { UndeclaredFields } from "./undeclared-fields.ts";

const IMPORT: Manifest = {
  apiVersion: "multicluster.x-k8s.io/v1beta1",
  kind: "ServiceImport",
  metadata: { name: "web", namespace: "shop" },
  spec: {
    type: "ClusterSetIP",
    ports: [],
    ipFamilies: ["IPv4"],
    trafficDistribution: "PreferClose",
  },
};

function refusal(...paths: readonly string[]): ApiFault {
  const told = paths.map((path) => `${path}: field not declared in schema`);
  const message = `HTTP 500: failed to create typed patch object (shop/web; v1, Kind=ServiceImport): ${told.join("\n")}`;
  return new ApiFault("server-error", message);
}

test("a field that a CRD does not declare is left out after its first rejection", () => {
  const fields = new UndeclaredFields();
  assert.equal(fields.without(IMPORT), IMPORT);
  assert.equal(fields.learn(refusal(".spec.ipFamilies")), true);
  assert.equal(fields.learn(refusal(".spec.ipFamilies")), false);
  assert.equal(fields.learn(refusal(".spec.trafficDistribution", ".status.conditions")), true);
  assert.deepEqual(fields.without(IMPORT), {
    ...IMPORT,
    spec: { type: "ClusterSetIP", ports: [] },
  });
  const status = { clusters: [], conditions: [] };
  assert.deepEqual(fields.without({ ...IMPORT, status }).status, { clusters: [] });
});

test("other errors leave out no field", () => {
  const fields = new UndeclaredFields();
  assert.equal(fields.learn(new ApiFault("server-error", "HTTP 500: etcd has no leader")), false);
  assert.equal(fields.learn(new ApiFault("invalid", refusal(".spec.ips").message)), false);
  assert.equal(fields.learn(new Error(refusal(".spec.ips").message)), false);
});
