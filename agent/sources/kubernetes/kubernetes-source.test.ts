import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { PROPERTY_CLUSTER_ID } from "../../../api/keys.ts";
import type { ReflectorState } from "../../../common/kubernetes/reflector-events.ts";
import { FakeFollowing } from "../../../test/doubles/fake-following.ts";
import type { Fields } from "../../../test/doubles/memory/fields.ts";
import { SourceRecorder } from "../../../test/doubles/source-recorder.ts";
import { cidr } from "../../../test/generators/facts.ts";
import { serviceImport } from "../../../test/generators/hostile-imports.ts";
import { clusterProperty, nodeObject } from "../../../test/generators/hostile-nodes.ts";
import { endpointSlice } from "../../../test/generators/hostile-slices.ts";
import { type KubernetesOptions, KubernetesSource } from "./kubernetes-source.ts";
import { RESOURCES } from "./queries.ts";

function started(mostEndpoints?: number, limits?: KubernetesOptions["limits"]) {
  const fake = new FakeFollowing();
  const told = new SourceRecorder();
  const states: string[] = [];
  const source = new KubernetesSource({
    follow: fake.follow,
    nodeName: "n1",
    clusterSetCidrs: [cidr("241.0.0.0/8")],
    ...(mostEndpoints !== undefined && { mostEndpoints }),
    ...(limits && { limits }),
    observe: (resource, { reason }) => states.push(`${resource} ${reason}`),
  });
  source.start(told);
  return { fake, told, source, states };
}

test("requests only labelled slices and its own Node, and optional properties", async () => {
  const { fake, source } = started();
  assert.deepEqual([...fake.queries.keys()], [...RESOURCES]);
  const slices = fake.queries.get("endpointslices");
  assert.equal(slices?.labelSelector, "multicluster.kubernetes.io/service-name");
  assert.equal(fake.queries.get("nodes")?.fieldSelector, "metadata.name=n1");
  assert.deepEqual(
    RESOURCES.filter((resource) => fake.queries.get(resource)?.optional === true),
    ["clusterproperties", "ipaddresses"],
  );
  assert.equal(fake.started, 5);
  await source.stop();
  assert.equal(fake.stopped, 5);
});

const names = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ name: `port-${i}`, protocol: "TCP", port: 1 + i }));

test("imports of one namespace that take too much memory are left out, reported, and read again when there is room; others are not", () => {
  const { fake, told } = started(undefined, { mostImportBytes: 300_000 });
  const imports = fake.tell("serviceimports");
  const large = (i: number) =>
    serviceImport({ ports: names(1000) }, { name: `large-${i}`, namespace: "greedy" });
  const list = () => {
    imports.state({ reason: "listing" });
    for (let i = 0; i < 20; i++) imports.changed(`greedy/large-${i}`, large(i), i);
    imports.changed("demo/serve", serviceImport(), 30);
    imports.state({ reason: "watching" });
  };
  list();
  const kept = [...told.imports.keys()];
  assert.ok(kept.includes("demo/serve"));
  assert.ok(kept.length > 1 && kept.length < 5, `${kept.length} imports`);
  const object = "ServiceImports of namespace greedy";
  assert.deepEqual(
    told.wrong.get(object)?.map(({ reason }) => reason),
    ["too-much-memory"],
  );
  list();
  assert.deepEqual([...told.imports.keys()], kept);
  for (let i = 1; i < 20; i++) imports.removed(`greedy/large-${i}`, 40);
  assert.equal(told.wrong.get(object)?.length ?? 0, 0);
});

test("problems of one namespace are kept up to its share", () => {
  const { fake, told } = started(undefined, { mostProblems: 10 });
  const imports = fake.tell("serviceimports");
  const invalid = (namespace: string, i: number) =>
    serviceImport({ ips: ["no", "none", "never"] }, { name: `bad-${i}`, namespace });
  for (let i = 0; i < 9; i++) imports.changed(`greedy/bad-${i}`, invalid("greedy", i), i);
  imports.changed("demo/bad-0", invalid("demo", 0), 9);
  const listed = [...told.wrong].filter(([, list]) => list.length > 0).map(([object]) => object);
  assert.ok(listed.includes("ServiceImport demo/bad-0"), listed.join());
  assert.equal(listed.filter((object) => object.startsWith("ServiceImport greedy")).length, 2);
  assert.equal(told.imports.size, 10, "the imports are used all the same");
});

test("ports and names of slices count for the limit of their namespace, also without endpoints", () => {
  const { fake, told } = started(200);
  const slices = fake.tell("endpointslices");
  const put = (name: string, fields: Fields) =>
    slices.changed(`demo/${name}`, endpointSlice(fields, {}, { name }), 1);
  for (let i = 0; i < 9; i++) put(`ports-${i}`, { endpoints: [], ports: names(100) });
  const kept = [...told.slices.values()].filter(({ ports }) => ports.length > 0);
  assert.ok(kept.length < 3, `${kept.length} slices`);
  const nodeName = (i: number) => `${"n".repeat(240)}-${i}`;
  const far = (i: number) => ({ addresses: [`10.3.0.${i}`], nodeName: nodeName(i) });
  const endpoints = Array.from({ length: 100 }, (_, i) => far(i));
  for (let i = 0; i < 9; i++) put(`ports-${i}`, { endpoints, ports: names(1) });
  const count = [...told.slices.values()].reduce((sum, one) => sum + one.endpoints.length, 0);
  assert.ok(count > 20 && count < 80, `${count} endpoints`);
});

test("of slices that wait for their import, keeps a bounded number of endpoints, and asks for the rest again", () => {
  const { fake, told } = started(1);
  const slices = fake.tell("endpointslices");
  slices.changed("demo/serve-c2", endpointSlice(), 1);
  const other = endpointSlice({}, {}, { name: "serve-c3" });
  slices.changed("demo/serve-c3", other, 2);
  assert.equal(told.slices.get("demo/serve-c3")?.endpoints.length, 0);
  fake.tell("serviceimports").changed("demo/serve", serviceImport(), 3);
  assert.deepEqual(fake.again, []);
  slices.removed("demo/serve-c2", 4);
  assert.deepEqual(fake.again, ["demo/serve-c3"]);
  slices.changed("demo/serve-c3", other, 5);
  assert.equal(told.slices.get("demo/serve-c3")?.endpoints.length, 1);
});

test("of a list of slices, no more endpoints are kept than may be once it is complete", () => {
  const { fake, told } = started(1);
  const slices = fake.tell("endpointslices");
  slices.state({ reason: "listing" });
  for (const name of ["serve-c9", "serve-c2"])
    slices.changed(`demo/${name}`, endpointSlice({}, {}, { name }), 7);
  slices.state({ reason: "watching" });
  const kept = [...told.slices.values()].map(({ endpoints }) => endpoints.length);
  assert.ok(kept.reduce((sum, one) => sum + one, 0) <= 1);
  assert.equal(told.at, 7);
});

test("is listed when all five are, in any order", () => {
  const { fake, told } = started();
  for (const resource of [...RESOURCES].reverse()) {
    assert.deepEqual(told.news(), []);
    fake.tell(resource).listed();
  }
  assert.deepEqual(told.news(), ["listed"]);
});

describe("an object", () => {
  test("is reported as a fact with its time of arrival, and when it is removed", () => {
    const { fake, told } = started();
    fake.tell("serviceimports").changed("demo/serve", serviceImport(), 7);
    fake.tell("endpointslices").changed("demo/serve-c2", endpointSlice(), 8);
    assert.deepEqual(told.news(), ["import demo/serve", "slice demo/serve-c2"]);
    assert.equal(told.at, 8);
    assert.equal(told.slices.get("demo/serve-c2")?.endpoints.at(0)?.address, "10.2.0.1");
    fake.tell("endpointslices").removed("demo/serve-c2", 9);
    fake.tell("serviceimports").removed("demo/serve", 9);
    assert.deepEqual(told.news(), ["no slice demo/serve-c2", "no import demo/serve"]);
    fake.tell("serviceimports").removed("demo/serve", 9);
    assert.deepEqual(told.news(), []);
  });

  test("without a relevant change is not reported again, and its fact stays the same value", () => {
    const { fake, told } = started();
    fake.tell("endpointslices").changed("demo/serve-c2", endpointSlice(), 1);
    const before = told.slices.get("demo/serve-c2");
    told.news();
    const metadata = { resourceVersion: "2", annotations: { a: "b" }, managedFields: [{}] };
    fake.tell("endpointslices").changed("demo/serve-c2", endpointSlice({}, {}, metadata), 2);
    assert.deepEqual(told.news(), []);
    fake
      .tell("endpointslices")
      .changed("demo/serve-c2", endpointSlice({ endpoints: [{ addresses: ["10.2.0.2"] }] }), 3);
    assert.deepEqual(told.news(), ["slice demo/serve-c2"]);
    assert.notEqual(told.slices.get("demo/serve-c2"), before);
  });

  test("that a handler rejected is reported again when it arrives again, with its problems", () => {
    const { fake, told } = started();
    const slices = fake.tell("endpointslices");
    const slice = endpointSlice({ endpoints: [{ addresses: ["10.2.0.1"] }, { addresses: ["x"] }] });
    for (const call of ["problems", "sliceChanged"] as const) {
      const refuse = mock.method(told, call, () => assert.fail(call));
      assert.throws(() => slices.changed("demo/serve-c2", slice, 1), { message: call });
      refuse.mock.restore();
    }
    assert.equal(told.slices.size, 0);
    slices.changed("demo/serve-c2", slice, 1);
    assert.equal(told.slices.get("demo/serve-c2")?.endpoints.length, 1);
    assert.equal(told.wrong.size, 1);
  });

  test("that is deleted loses its problems, also if its name was one", () => {
    const { fake, told } = started();
    const imports = fake.tell("serviceimports");
    imports.changed("demo/a.b", serviceImport({}, { name: "a.b" }), 1);
    imports.changed("demo/serve", serviceImport({ ips: ["010.0.0.1"] }), 1);
    assert.deepEqual(
      [...told.wrong.keys()],
      ['ServiceImport demo/"a.b"', "ServiceImport demo/serve"],
    );
    imports.removed("demo/a.b", 2);
    imports.removed("demo/serve", 2);
    assert.equal(told.wrong.size, 0);
  });

  test("without the multi-cluster label is ignored", () => {
    const { fake, told, source } = started();
    const unlabelled = { metadata: { namespace: "demo", name: "x" }, addressType: "FQDN" };
    fake.tell("endpointslices").changed("demo/x", unlabelled, 1);
    assert.deepEqual(told.news(), []);
    assert.equal(source.sizes.get("endpointslices"), 0);
  });
});

describe("the node", () => {
  test("is reported, and its removal, too", () => {
    const { fake, told } = started();
    fake.tell("nodes").changed("n1", nodeObject(), 1);
    assert.equal(told.node?.zone, "eu-west-a");
    fake.tell("nodes").removed("n1", 2);
    assert.equal(told.node, undefined);
    assert.deepEqual(told.news(), ["node", "node"]);
  });
});

test("properties are reported all together, without invalid ones", () => {
  const { fake, told } = started();
  const properties = fake.tell("clusterproperties");
  properties.changed(PROPERTY_CLUSTER_ID, clusterProperty(PROPERTY_CLUSTER_ID, "c1"), 1);
  properties.changed("tier.example.com", clusterProperty("tier.example.com", "gold"), 2);
  assert.deepEqual(
    told.properties,
    new Map([
      [PROPERTY_CLUSTER_ID, "c1"],
      ["tier.example.com", "gold"],
    ]),
  );
  properties.changed(PROPERTY_CLUSTER_ID, clusterProperty(PROPERTY_CLUSTER_ID, "not an id"), 3);
  assert.deepEqual(told.properties, new Map([["tier.example.com", "gold"]]));
  properties.removed("tier.example.com", 4);
  assert.equal(told.properties.size, 0);
  assert.deepEqual([...told.wrong.keys()], [`ClusterProperty ${PROPERTY_CLUSTER_ID}`]);
});

test("the state of each connection is reported from the start, and can be read", () => {
  const { fake, source, states } = started();
  const unanswered: ReflectorState = { reason: "listing", detail: "no response yet" };
  assert.deepEqual(source.states, new Map(RESOURCES.map((resource) => [resource, unanswered])));
  fake.tell("nodes").state({ reason: "watching" });
  assert.deepEqual(states, [...RESOURCES.map((one) => `${one} listing`), "nodes watching"]);
  assert.deepEqual(source.states.get("nodes"), { reason: "watching" });
});
