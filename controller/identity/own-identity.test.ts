import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { checkLease, expectLease, type LeaseMemory, renewLease } from "../members/lease-expiry.ts";
import { LEASE_NAME, registryNamespace } from "../registry/names.ts";
import { type ClusterClaim, clusterClaimOf } from "./cluster-claim.ts";
import { type LeaseStep, leaseStep } from "./lease-step.ts";
import { type Identity, type IdentityFlags, ownIdentity } from "./own-identity.ts";
import { peerVerdict } from "./peer-verdict.ts";

const ID = "cluster.clusterset.k8s.io";
const SET = "clusterset.k8s.io";

function identity(
  flags: Partial<IdentityFlags>,
  properties: Readonly<Record<string, string>>,
  before?: Identity,
) {
  const none = { cluster: undefined, clusterSet: undefined, region: undefined };
  return ownIdentity({ ...none, ...flags }, new Map(Object.entries(properties)), before);
}

function fault(own: ReturnType<typeof identity>): string {
  assert.ok("detail" in own, JSON.stringify(own));
  return `${own.reason}: ${own.detail}`;
}

const IDENTIFIED = {
  reason: "identified",
  identity: { id: "c1", clusterSet: "prod", region: "eu" },
};

test("ClusterProperties give the identity, and none is created", () => {
  const own = identity({}, { [ID]: "c1", [SET]: "prod", "region.topology.k8s.io": "eu" });
  assert.deepEqual(own, { ...IDENTIFIED, missing: [] });
});

test("flags give the identity, and missing ClusterProperties are created", () => {
  const own = identity({ cluster: "c1", clusterSet: "prod", region: "eu" }, { [SET]: "prod" });
  const kind = { apiVersion: "about.k8s.io/v1beta1", kind: "ClusterProperty" };
  const property = { ...kind, metadata: { name: ID }, spec: { value: "c1" } };
  assert.deepEqual(own, { ...IDENTIFIED, missing: [property] });
});

test("a flag that differs from its property is an error that names both", () => {
  assert.equal(
    fault(identity({ cluster: "c1" }, { [ID]: "c2" })),
    `identity-differs: --cluster-id says c1, ClusterProperty ${ID} says "c2"; correct the one that is wrong`,
  );
  const other = identity({ cluster: "c1", clusterSet: "prod" }, { [ID]: "c1", [SET]: "test" });
  assert.match(fault(other), /^identity-differs: --clusterset-id says prod, /);
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
  const changed = identity({}, { [ID]: "c2" }, before);
  assert.match(fault(changed), /^identity-changed: .* was c1 and is c2/);
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

/** A Lease, and clusters with the same ID that take the decided step. */
class Namesakes {
  now = 0;
  /** The Lease, as each of them sees it. */
  readonly #seen = new Map<string, LeaseMemory>();
  #lease: { readonly uid: string; readonly contestedBy?: string } | undefined;
  #renewals = 0;

  /** One cluster decides, and takes the step. */
  look(uid: string): LeaseStep {
    let seen = this.#seen.get(uid);
    if (this.#lease !== undefined) {
      const lease = { uid: this.#lease.uid, renewal: String(this.#renewals), leaseSeconds: 30 };
      seen = checkLease(seen ?? expectLease(30, this.now), this.now, false);
      seen = renewLease(seen, lease, this.now);
      this.#seen.set(uid, seen);
    }
    const step = leaseStep(uid, this.#lease, seen?.status);
    if (step.does === "write") {
      this.#lease = { uid };
      this.#renewals++;
    }
    if (step.does === "contest" && this.#lease) this.#lease = { ...this.#lease, contestedBy: uid };
    return step;
  }

  /** The clusters act one after the other, every ten seconds. */
  turns(count: number, ...uids: readonly string[]): LeaseStep[] {
    let steps: LeaseStep[] = [];
    for (let i = 0; i < count; i++) {
      steps = uids.map((uid) => this.look(uid));
      this.now += 10_000;
    }
    return steps;
  }
}

test("a missing Lease is created and renewed", () => {
  const world = new Namesakes();
  assert.deepEqual(world.look("a"), { reason: "lease-absent", does: "write" });
  assert.deepEqual(world.turns(10, "a"), [{ reason: "lease-ours", does: "write" }]);
});

test("of two live clusters with one ID the second writes nothing, and both report it", () => {
  const world = new Namesakes();
  world.turns(3, "a");
  assert.deepEqual(world.look("b"), { reason: "lease-observed", does: "wait", other: "a" });
  assert.deepEqual(world.turns(20, "a", "b"), [
    { reason: "duplicate-cluster-id", does: "write", other: "b" },
    { reason: "duplicate-cluster-id", does: "contest", other: "a" },
  ]);
  // The second cluster gets another ID: the conflict ends.
  world.turns(2, "a");
  assert.deepEqual(world.look("a"), { reason: "lease-ours", does: "write" });
});

test("a rebuilt cluster takes over its Lease after the Lease has expired", () => {
  const world = new Namesakes();
  world.turns(3, "a");
  const waited = world.turns(3, "rebuilt");
  assert.deepEqual(waited, [{ reason: "lease-observed", does: "wait", other: "a" }]);
  world.now += 1000;
  const taken = { reason: "lease-taken-over", does: "write", other: "a" };
  assert.deepEqual(world.look("rebuilt"), taken);
  assert.deepEqual(world.look("rebuilt"), { reason: "lease-ours", does: "write" });
});

const OWN = { id: "c1", clusterSet: "prod" };

function verdict(cluster: string, lease: ClusterClaim | undefined, own = OWN): string {
  const { reason, records } = peerVerdict(cluster, lease, own, "uid-1");
  return `${reason}: ${records}`;
}

test("the records of a cluster are used once its Lease exists", () => {
  assert.equal(verdict("c2", undefined), "not-introduced: keep");
  assert.equal(verdict("c2", { id: "c2", uid: "uid-2", clusterSet: "prod" }), "member: use");
  assert.equal(verdict("c2", { uid: "uid-2" }), "member: use");
  assert.equal(verdict("c1", { id: "c1", uid: "uid-1" }), "member: use", "our own registry");
});

test("a cluster whose Lease names another ID is not trusted, and its imports stay", () => {
  assert.equal(verdict("c2", { id: "c3", uid: "uid-3" }), "id-mismatch: keep");
  assert.equal(verdict("c2", { id: "c2", uid: "uid-1" }), "id-mismatch: keep", "it is ourselves");
});

test("records of another cluster with our ID are never used", () => {
  assert.equal(verdict("c1", { id: "c1", uid: "uid-2" }), "duplicate-cluster-id: keep");
});

test("of two clusters with one ID the first continues, and the conflict is reported", () => {
  const contested = { id: "c2", uid: "uid-2", contestedBy: "uid-3" };
  assert.equal(verdict("c2", contested), "duplicate-cluster-id: use");
  assert.match(peerVerdict("c2", contested, OWN, "uid-1").detail ?? "", /uid-3/);
  assert.equal(verdict("c2", { ...contested, contestedBy: "uid-2" }), "member: use");
});

test("a member of another clusterset exports nothing to us, contested or not", () => {
  const other = { id: "c2", uid: "uid-2", clusterSet: "test", contestedBy: "uid-3" };
  assert.equal(verdict("c2", other), "other-clusterset: drop");
  const { reason } = peerVerdict("c2", { ...other, contestedBy: "uid-2" }, { id: "c1" }, "uid-1");
  assert.equal(reason, "member", "we are of none");
});

test("invalid fields of a Lease count as absent", () => {
  const lease = {
    metadata: {
      name: LEASE_NAME,
      namespace: registryNamespace("c2"),
      labels: {
        "multicluster.kubernetes.io/source-cluster": "C2!",
        "clusterset-proxy.io/clusterset": "prod",
      },
      annotations: { "clusterset-proxy.io/contested-by": "uid 3" },
    },
    spec: { holderIdentity: "uid-2" },
  };
  assert.deepEqual(clusterClaimOf(lease), { uid: "uid-2", clusterSet: "prod" });
  for (const wrong of [{}, null, "Lease", { spec: { holderIdentity: "" } }]) {
    assert.equal(clusterClaimOf(wrong), undefined);
  }
});
