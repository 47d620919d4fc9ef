import assert from "node:assert/strict";
import { test } from "node:test";
import { LEASE_NAME, registryNamespace } from "../registry/names.ts";
import { type ClusterClaim, clusterClaimOf } from "./cluster-claim.ts";
import { peerVerdict } from "./peer-verdict.ts";

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
