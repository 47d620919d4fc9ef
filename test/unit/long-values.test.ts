import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSlice } from "../../agent/model/parse-slice.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { metaOf } from "../../common/kubernetes/object-meta.ts";
import { decodeCluster } from "../../controller/registry/decode-cluster.ts";
import { decodeRecord, decodeSlice } from "../../controller/registry/decode-record.ts";
import { encodeCluster, encodeRecord, encodeSlice } from "../../controller/registry/encode.ts";
import { CLUSTER, NAMESPACE, RECORD, SLICE } from "../generators/registry-facts.ts";
import { REGISTRY } from "../generators/registry-objects.ts";

// A peer, or a tenant, may put a megabyte into any text of an object. None of it may stay in memory.

const LONG = "x".repeat(1_000_000);
/** Characters that may stay of an object with one long text: its facts, and problems with shortened values. */
const MOST = 4000;
const IMPORTED = {
  metadata: {
    namespace: "demo",
    name: "imported",
    uid: "u",
    resourceVersion: "5",
    labels: {
      "multicluster.kubernetes.io/service-name": "serve",
      "multicluster.kubernetes.io/source-cluster": "c2",
      "topology.kubernetes.io/region": "eu",
    },
  },
  addressType: "IPv4",
  ports: [{ name: "http", protocol: "TCP", port: 80, appProtocol: "http" }],
  endpoints: [{ addresses: ["10.2.0.1"], hostname: "h", nodeName: "n", zone: "z", conditions: {} }],
};

const KINDS: Readonly<Record<string, [object, (object: unknown) => Parsed<unknown>]>> = {
  "the agent's slice": [IMPORTED, (object) => parseSlice(object)],
  "a registry's slice": [encodeSlice(SLICE, "c2"), (object) => decodeSlice(object, REGISTRY)],
  "a registry's record": [
    encodeRecord(RECORD, NAMESPACE),
    (object) => decodeRecord(object, REGISTRY),
  ],
  "a registry's Lease": [
    encodeCluster(CLUSTER, NAMESPACE),
    (object) => decodeCluster(object, REGISTRY),
  ],
};

/** Copies of a value, each with one text or one key replaced by a long one. */
function* lengthened(value: unknown): Generator<unknown> {
  if (typeof value === "string") {
    yield LONG;
    yield `${value}${LONG}`;
  } else if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      for (const long of lengthened(item)) yield value.with(i, long);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      for (const long of lengthened(item)) yield { ...value, [name]: long };
      yield { ...value, [`${name}${LONG}`]: item };
    }
  }
}

for (const [name, [object, parse]] of Object.entries(KINDS)) {
  test(`of a megabyte in any text of ${name}, a few characters are kept`, () => {
    const whole = JSON.parse(JSON.stringify(object));
    assert.ok(parse(whole).fact, JSON.stringify(parse(whole)));
    let count = 0;
    for (const long of lengthened(whole)) {
      const kept = JSON.stringify([parse(long), metaOf(long) ?? null]);
      assert.ok(kept.length < MOST, kept.slice(0, 300));
      count++;
    }
    assert.ok(count > 20);
  });
}
