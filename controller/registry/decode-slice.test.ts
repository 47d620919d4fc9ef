import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LABEL_RECORD, LABEL_SOURCE_CLUSTER } from "../../api/keys.ts";
import type { Fields } from "../../api/parse/fields.ts";
import { REGISTRY, slice } from "../../test/generators/registry-objects.ts";
import { type ParseCases, testCases } from "../../test/stages/parse-cases.ts";
import { decodeSlice } from "./decode-slice.ts";

const OTHER_LABEL = { labels: { [LABEL_RECORD]: "other.demo" } };
const RECORD_LABEL = `metadata.labels[${LABEL_RECORD}]`;
const SOURCE_LABEL = `metadata.labels[${LABEL_SOURCE_CLUSTER}]`;

describe("a record's slice", () => {
  const READ = { address: "10.2.0.1", ready: true, serving: true, terminating: false };
  const endpoint = (address: string, more: Fields = {}) => ({
    endpoints: [{ addresses: [address], ...more }, { addresses: ["10.2.0.1"] }],
  });
  const cases: ParseCases = {
    "that is plain": [slice({}), { endpoints: [READ] }],
    "without the label, so somebody's own": [
      slice({ labels: { [LABEL_RECORD]: null } }),
      undefined,
    ],
    "in another namespace": [
      slice({ namespace: "demo" }),
      undefined,
      "misplaced metadata.namespace",
    ],
    "under the record's own name": [
      slice({ name: "serve.demo" }),
      undefined,
      "misplaced metadata.name",
    ],
    "under any name": [slice({ name: "x" }), undefined, "misplaced metadata.name"],
    "under another's name": [
      slice({ name: "other.demo.v4-0" }),
      undefined,
      `misplaced ${RECORD_LABEL}`,
    ],
    "labelled as another's": [slice(OTHER_LABEL), undefined, `misplaced ${RECORD_LABEL}`],
    "that claims another cluster": [
      slice({ labels: { [LABEL_SOURCE_CLUSTER]: "c1" } }),
      undefined,
      `foreign-cluster ${SOURCE_LABEL}`,
    ],
    "of names": [slice({}, { addressType: "FQDN" }), undefined, "fqdn-slice addressType"],
    "outside its cluster's ranges": [
      slice({}, endpoint("10.3.0.1")),
      { endpoints: [READ] },
      "outside-endpoint-cidrs endpoints[0].addresses[0]",
    ],
    "inside the ClusterSet CIDR": [
      slice({}, endpoint("241.0.0.1")),
      { endpoints: [READ] },
      "in-clusterset-cidr endpoints[0].addresses[0]",
    ],
    "at the node's own address": [
      slice({}, endpoint("127.0.0.1")),
      { endpoints: [READ] },
      "loopback-address endpoints[0].addresses[0]",
    ],
    "with names that are none": [
      slice({}, endpoint("10.2.0.2", { hostname: "a.b", nodeName: "N", zone: "a b" })),
      { endpoints: [{ ...READ, address: "10.2.0.2" }, READ] },
      "invalid-name endpoints[0].hostname",
      "invalid-name endpoints[0].nodeName",
      "invalid-label endpoints[0].zone",
    ],
    "with conditions": [
      slice(
        {},
        endpoint("10.2.0.2", { conditions: { ready: false, serving: true, terminating: true } }),
      ),
      {
        endpoints: [{ address: "10.2.0.2", ready: false, serving: true, terminating: true }, READ],
      },
    ],
  };
  testCases(
    cases,
    (object) => {
      const { fact, problems } = decodeSlice(object, REGISTRY);
      return { fact: fact && { endpoints: fact.endpoints }, problems };
    },
    {},
  );

  test("may have any address if no range is declared for its cluster", () => {
    const { fact } = decodeSlice(slice({}, endpoint("10.3.0.1")), {
      ...REGISTRY,
      endpointCidrs: [],
    });
    assert.equal(fact?.endpoints.length, 2);
  });
});
