import { describe } from "node:test";
import {
  ANNOTATION_ACCEPTED_CIDRS,
  ANNOTATION_COMPLETE,
  ANNOTATION_VERSION,
  LABEL_CLUSTER_SET,
  LABEL_REGION,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import { lease, REGISTRY } from "../../test/generators/registry-objects.ts";
import { type ParseCases, testCases } from "../../test/stages/parse-cases.ts";
import { decodeCluster } from "./decode-cluster.ts";

const SOURCE_LABEL = `metadata.labels[${LABEL_SOURCE_CLUSTER}]`;

describe("a cluster's Lease", () => {
  const READ = {
    id: "c2",
    uid: "u1",
    properties: {},
    leaseSeconds: 30,
    renewal: "2026-01-01T00:00:00.000000Z",
    complete: false,
  };
  const REGION_PATH = `metadata.labels[${LABEL_REGION}]`;
  const cases: ParseCases = {
    "that is plain": [lease({}), {}],
    "of another name, so somebody's own": [lease({ name: "x" }), undefined],
    "in another namespace": [
      lease({ namespace: "demo" }),
      undefined,
      "misplaced metadata.namespace",
    ],
    "that claims another cluster": [
      lease({ labels: { [LABEL_SOURCE_CLUSTER]: "c1" } }),
      undefined,
      `foreign-cluster ${SOURCE_LABEL}`,
    ],
    "of a member": [
      lease({ labels: { [LABEL_CLUSTER_SET]: "prod", [LABEL_REGION]: "eu" } }),
      { clusterSet: "prod", region: "eu" },
    ],
    "of a registry that holds all that is exported": [
      lease({ annotations: { [ANNOTATION_COMPLETE]: "true" } }),
      { complete: true },
    ],
    "of a newer release": [
      lease({ annotations: { [ANNOTATION_VERSION]: "9.0.0-rc.1" } }),
      { version: "9.0.0-rc.1" },
    ],
    "of a release that is none": [
      lease({ annotations: { [ANNOTATION_VERSION]: "v".repeat(64) } }),
      {},
      `invalid-object metadata.annotations[${ANNOTATION_VERSION}]`,
    ],
    "that says something else of it": [
      lease({ annotations: { [ANNOTATION_COMPLETE]: "perhaps" } }),
      {},
    ],
    "with the ranges that it declares for its peers": [
      lease({ annotations: { [ANNOTATION_ACCEPTED_CIDRS]: '{"c1":"10.1.0.0/16, fd00::/48"}' } }),
      { accepts: { c1: "10.1.0.0/16,fd00::/48" } },
    ],
    "with ranges of which some are none": [
      lease({
        annotations: { [ANNOTATION_ACCEPTED_CIDRS]: '{"c1":"10.1.0.0/99","c3":"10.3.0.0/16"}' },
      }),
      { accepts: { c3: "10.3.0.0/16" } },
      `invalid-cidr metadata.annotations[${ANNOTATION_ACCEPTED_CIDRS}]`,
    ],
    "with ranges that are no JSON": [
      lease({ annotations: { [ANNOTATION_ACCEPTED_CIDRS]: "10.1.0.0/16" } }),
      {},
      `invalid-object metadata.annotations[${ANNOTATION_ACCEPTED_CIDRS}]`,
    ],
    "of a region that is none": [
      lease({ labels: { [LABEL_REGION]: "a b" } }),
      {},
      `invalid-label ${REGION_PATH}`,
    ],
    "of nobody": [
      lease({}, { holderIdentity: "" }),
      undefined,
      "invalid-object spec.holderIdentity",
    ],
    "that was never renewed": [
      lease({}, { renewTime: null }),
      undefined,
      "invalid-object spec.renewTime",
    ],
    "for ever": [
      lease({}, { leaseDurationSeconds: 2 ** 31 - 1 }),
      undefined,
      "invalid-object spec.leaseDurationSeconds",
    ],
  };
  testCases(cases, (object) => decodeCluster(object, REGISTRY), READ);
});
