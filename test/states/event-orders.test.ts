import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { factTables } from "../../agent/sources/fact-tables.ts";
import { KubernetesSource } from "../../agent/sources/kubernetes/kubernetes-source.ts";
import { RESOURCES, type Resource } from "../../agent/sources/kubernetes/queries.ts";
import { manifestObjects } from "../../agent/sources/manifests/manifest-object.ts";
import { ObjectIndex } from "../../agent/sources/manifests/object-index.ts";
import { PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { FakeFollowing } from "../doubles/fake-following.ts";
import { SourceRecorder } from "../doubles/source-recorder.ts";
import { cidr } from "../generators/facts.ts";
import { serviceImport } from "../generators/hostile-imports.ts";
import { clusterProperty, nodeObject } from "../generators/hostile-nodes.ts";
import { endpointSlice } from "../generators/hostile-slices.ts";
import { mutated } from "../generators/mutations.ts";
import { ipAddress } from "../generators/objects.ts";

const CIDRS = [cidr("241.0.0.0/8"), cidr("fd00:241::/108")];
/** Fields that only documents of files have. */
const TYPES = {
  serviceimports: { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceImport" },
  endpointslices: { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
} as const;

/** One event of a reflector; without an object: the object was deleted. */
interface Word {
  readonly key: string;
  readonly object?: unknown;
}

function following(): { fake: FakeFollowing; told: SourceRecorder } {
  const fake = new FakeFollowing();
  const told = new SourceRecorder();
  new KubernetesSource({ follow: fake.follow, nodeName: "n1", clusterSetCidrs: CIDRS }).start(told);
  return { fake, told };
}

function say(fake: FakeFollowing, resource: Resource, { key, object }: Word): void {
  if (object === undefined) fake.tell(resource).removed(key, 0);
  else fake.tell(resource).changed(key, object, 0);
}

function named(name: string, object: (metadata: object) => object): fc.Arbitrary<Word> {
  const key = `demo/${name}`;
  const metadata = { namespace: "demo", name };
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant({ key }) },
    { weight: 3, arbitrary: fc.constant({ key, object: object(metadata) }) },
    {
      weight: 3,
      arbitrary: mutated(object(metadata)).map((value) => ({
        key,
        object: { ...(value as object), metadata: { ...metadata, labels: LABELS } },
      })),
    },
  );
}

const LABELS = { "multicluster.kubernetes.io/service-name": "serve" };

const WORDS: Readonly<Record<Resource, fc.Arbitrary<Word>>> = {
  serviceimports: fc.oneof(
    ...["serve", "other"].map((name) =>
      named(name, (metadata) => serviceImport({}, { ...metadata })),
    ),
  ),
  endpointslices: fc.oneof(
    ...["a", "b", "c"].map((name) =>
      named(name, (metadata) => endpointSlice({}, {}, { ...metadata })),
    ),
  ),
  nodes: fc.constantFrom(
    { key: "n1" },
    { key: "n1", object: nodeObject() },
    { key: "n1", object: nodeObject({ spec: { podCIDRs: ["10.1.9.0/24", "?"] } }) },
    { key: "n2", object: nodeObject({}, { name: "n2" }) },
  ),
  clusterproperties: fc.constantFrom(
    { key: PROPERTY_CLUSTER_ID },
    { key: PROPERTY_CLUSTER_ID, object: clusterProperty(PROPERTY_CLUSTER_ID, "c1") },
    { key: PROPERTY_CLUSTER_ID, object: clusterProperty(PROPERTY_CLUSTER_ID, "not an id") },
    { key: "a.example", object: clusterProperty("a.example", "x") },
  ),
  ipaddresses: fc.constantFrom(
    { key: "241.0.0.1" },
    { key: "241.0.0.1", object: ipAddress("241.0.0.1", "demo/serve") },
    { key: "241.0.0.1", object: ipAddress("241.0.0.1", "demo/other") },
    { key: "241.0.0.2", object: ipAddress("241.0.0.2", "demo/No Name") },
  ),
};

const streams = fc.record({
  serviceimports: fc.array(WORDS.serviceimports, { maxLength: 8 }),
  endpointslices: fc.array(WORDS.endpointslices, { maxLength: 12 }),
  nodes: fc.array(WORDS.nodes, { maxLength: 4 }),
  clusterproperties: fc.array(WORDS.clusterproperties, { maxLength: 5 }),
  ipaddresses: fc.array(WORDS.ipaddresses, { maxLength: 5 }),
});

test("events of five reflectors in any order give the state of their last events", () => {
  fc.assert(
    fc.property(streams, fc.array(fc.nat(4), { maxLength: 40 }), (said, turns) => {
      const one = following();
      const left = new Map(RESOURCES.map((resource) => [resource, [...said[resource]]]));
      const next = (resource: Resource) => {
        const word = left.get(resource)?.shift();
        if (word !== undefined) say(one.fake, resource, word);
      };
      for (const turn of turns) next(RESOURCES[turn] ?? "nodes");
      for (const resource of RESOURCES) while (left.get(resource)?.length) next(resource);

      const other = following();
      for (const resource of [...RESOURCES].reverse()) {
        const last = new Map(said[resource].map((word) => [word.key, word]));
        for (const word of last.values()) say(other.fake, resource, word);
      }
      assert.deepEqual(one.told.world(), other.told.world());
    }),
    { numRuns: 300 },
  );
});

test("an object has the same facts and problems from an API server and from a file", () => {
  let facts = 0;
  for (const resource of ["serviceimports", "endpointslices"] as const) {
    fc.assert(
      fc.property(WORDS[resource], (word) => {
        const { fake, told } = following();
        say(fake, resource, word);
        if (word.object === undefined) return;
        const document = { ...(word.object as object), ...TYPES[resource] };
        const objects = manifestObjects("a.yaml", [document], CIDRS);
        const files = new Map([["a.yaml", { objects, leaving: false }]]);
        const fromFile = new SourceRecorder();
        new ObjectIndex().update(files, factTables(fromFile), 0);
        assert.deepEqual(fromFile.world(), told.world());
        facts += told.imports.size + told.slices.size;
      }),
      { numRuns: 300 },
    );
  }
  assert.ok(facts > 200, `only ${facts} facts`);
});
