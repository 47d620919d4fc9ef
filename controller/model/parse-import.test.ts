import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ANNOTATION_AUTHORED, ANNOTATION_IMPORT, ANNOTATION_PREVIOUS_IPS } from "../../api/keys.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { parseExport } from "./parse-export.ts";
import { parseImport } from "./parse-import.ts";

const READY = {
  type: "Ready",
  status: "True",
  reason: "Ready",
  message: "241.0.0.1",
  lastTransitionTime: "2026-11-21T10:00:00Z",
  observedGeneration: 3,
};

const IMPORT = {
  metadata: {
    namespace: "demo",
    name: "serve",
    generation: 3,
    annotations: { [ANNOTATION_IMPORT]: "adopted", [ANNOTATION_PREVIOUS_IPS]: "242.0.0.1" },
  },
  spec: {
    type: "ClusterSetIP",
    ips: ["241.0.0.1"],
    ipFamilies: ["IPv4"],
    ports: [{ port: 80, appProtocol: "http" }],
  },
  status: { clusters: [{ cluster: "c1" }, { cluster: "c2" }], conditions: [READY] },
};

test("parses all fields of an import that the controller uses", () => {
  assert.deepEqual(parseImport(IMPORT), {
    object: "ServiceImport demo/serve",
    key: "demo/serve",
    problems: [],
    fact: {
      key: "demo/serve",
      generation: 3,
      origin: "adopted",
      headless: false,
      ips: ["241.0.0.1"],
      previousIps: ["242.0.0.1"],
      families: ["IPv4"],
      ports: [{ name: "", protocol: "TCP", port: 80, appProtocol: "http" }],
      tiers: {},
      clusters: ["c1", "c2"],
      conditions: [READY],
    },
  });
});

test("a minimal user-managed import has no origin, and no previous VIPs", () => {
  const { fact } = parseImport({
    metadata: {
      namespace: "demo",
      name: "serve",
      annotations: { [ANNOTATION_PREVIOUS_IPS]: "242.0.0.1" },
    },
    spec: { type: "ClusterSetIP", ports: [{ port: 80 }] },
  });
  assert.deepEqual(fact, {
    key: "demo/serve",
    generation: 0,
    authored: '{"type":"ClusterSetIP","ports":[{"port":80}]}',
    headless: false,
    ips: [],
    previousIps: [],
    families: [],
    ports: [{ name: "", protocol: "TCP", port: 80 }],
    tiers: {},
    clusters: [],
    conditions: [],
  });
});

test("the user's spec is read from the annotation, unless it is too large", () => {
  const adopted = (text: unknown) =>
    parseImport({
      ...IMPORT,
      metadata: {
        ...IMPORT.metadata,
        annotations: { [ANNOTATION_IMPORT]: "adopted", [ANNOTATION_AUTHORED]: text },
      },
    }).fact?.authored;
  assert.equal(adopted("{}"), "{}");
  assert.equal(adopted(7), undefined);
  assert.equal(adopted("x".repeat(70_000)), undefined);
});

test("an invalid explicit address stays among the VIPs", () => {
  const odd = { ...IMPORT, spec: { ...IMPORT.spec, ips: ["x", 7, "1.2.3.4"], ipFamilies: ["X"] } };
  assert.deepEqual(parseImport(odd).fact?.ips, ["x", "1.2.3.4"]);
  assert.deepEqual(parseImport(odd).fact?.families, []);
});

test("invalid conditions of imports and exports are ignored", () => {
  const conditions = [
    { ...READY, status: "Maybe" },
    { ...READY, lastTransitionTime: "yesterday" },
    { ...READY, type: 1 },
    null,
    { ...READY, type: "Other", observedGeneration: -1 },
  ];
  const kept = [{ ...READY, type: "Other", observedGeneration: 0 }];
  assert.deepEqual(parseImport({ ...IMPORT, status: { conditions } }).fact?.conditions, kept);
  const exported = {
    metadata: { ...IMPORT.metadata, uid: "u", creationTimestamp: "2026-11-21T10:00:00Z" },
    status: { conditions },
  };
  assert.deepEqual(parseExport(exported).fact?.conditions, kept);
});

test("parsing any import neither throws nor returns invalid fields", async () => {
  const anything = fc.anything({ withNullPrototype: true });
  const spec = fc.record({ type: fc.constant("Headless"), ports: anything, ips: anything });
  const status = fc.record({ clusters: fc.array(anything), conditions: fc.array(anything) });
  await forAll([fc.record({ spec, status })], (object) => {
    const { fact } = parseImport({ ...object, metadata: { ...IMPORT.metadata, annotations: 7 } });
    assert.equal(fact?.origin, undefined);
    assert.ok(fact?.ips.every((ip) => typeof ip === "string"));
  });
});

test("an import of an unknown type gives no fact", () => {
  const { fact, problems } = parseImport({ ...IMPORT, spec: { type: "Other" } });
  assert.equal(fact, undefined);
  assert.deepEqual(
    problems.map(({ reason }) => reason),
    ["invalid-object"],
  );
});
