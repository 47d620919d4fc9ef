import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import {
  type Identity,
  type IdentityFlags,
  type OwnIdentity,
  ownIdentity,
} from "./own-identity.ts";

const ID = "cluster.clusterset.k8s.io";
const SET = "clusterset.k8s.io";

function identity(
  flags: Partial<IdentityFlags>,
  properties: Readonly<Record<string, string>>,
  before?: Identity,
): OwnIdentity {
  const none = { cluster: undefined, clusterSet: undefined, region: undefined };
  return ownIdentity({ ...none, ...flags }, new Map(Object.entries(properties)), before);
}

function fault(own: OwnIdentity): string {
  assert.ok("detail" in own, JSON.stringify(own));
  return `${own.reason}: ${own.detail}`;
}

test("ClusterProperties give the identity, and none is created", () => {
  assert.deepEqual(identity({}, { [ID]: "c1", [SET]: "prod", "region.topology.k8s.io": "eu" }), {
    reason: "identified",
    identity: { id: "c1", clusterSet: "prod", region: "eu" },
    missing: [],
  });
});

test("flags give the identity, and missing ClusterProperties are created", () => {
  const own = identity({ cluster: "c1", clusterSet: "prod", region: "eu" }, { [SET]: "prod" });
  assert.deepEqual(own, {
    reason: "identified",
    identity: { id: "c1", clusterSet: "prod", region: "eu" },
    missing: [
      {
        apiVersion: "about.k8s.io/v1beta1",
        kind: "ClusterProperty",
        metadata: { name: ID },
        spec: { value: "c1" },
      },
    ],
  });
});

test("a flag that differs from its property is an error that names both", () => {
  assert.equal(
    fault(identity({ cluster: "c1" }, { [ID]: "c2" })),
    `identity-differs: --cluster-id says c1, ClusterProperty ${ID} says "c2"; correct the one that is wrong`,
  );
  assert.match(
    fault(identity({ cluster: "c1", clusterSet: "prod" }, { [ID]: "c1", [SET]: "test" })),
    /^identity-differs: --clusterset-id says prod, /,
  );
});

test("without flag and property the identity is unknown", () => {
  assert.match(fault(identity({ clusterSet: "prod" }, {})), /^identity-missing: Neither --cluster/);
});

test("a property with an invalid ID is an error", () => {
  assert.match(fault(identity({}, { [ID]: "C1!" })), /^identity-invalid: .* says "C1!"/);
  assert.match(fault(identity({ cluster: "c1" }, { [ID]: "C1!" })), /^identity-differs: /);
  assert.match(fault(identity({ cluster: "c1" }, { [SET]: "a b" })), /^identity-invalid: /);
});

test("a changed ID or clusterset requires a restart", () => {
  const before = { id: "c1", clusterSet: "prod" };
  assert.match(
    fault(identity({}, { [ID]: "c2" }, before)),
    /^identity-changed: .* was c1 and is c2/,
  );
  assert.match(fault(identity({}, { [ID]: "c1", [SET]: "test" }, before)), /^identity-changed: /);
});

test("a deleted property keeps the identity; a clusterset can be added", () => {
  const before = { id: "c1", clusterSet: "prod" };
  const own = identity({}, {}, before);
  assert.deepEqual(own, { reason: "identified", identity: before, missing: [] });
  const joined = identity({}, { [ID]: "c1", [SET]: "prod" }, { id: "c1" });
  assert.equal(joined.reason, "identified");
});

test("a region that is no label value is ignored", () => {
  const own = identity({ cluster: "c1" }, { "region.topology.k8s.io": "a b" });
  assert.ok(own.reason === "identified");
  assert.equal(own.identity.region, undefined);
});

test("for any property value, the detail is one printable line", () =>
  forAll([fc.string({ unit: "binary" }), fc.string({ unit: "binary" })], (id, set) => {
    const own = identity({ cluster: "c1" }, { [ID]: id, [SET]: set });
    if ("detail" in own) assert.match(own.detail, /^[\x20-\x7e]+$/);
    else assert.equal(own.identity.id, id);
  }));
