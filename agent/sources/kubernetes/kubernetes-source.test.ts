import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { PROPERTY_CLUSTER_ID } from "../../../api/keys.ts";
import type { ReflectorState } from "../../../common/kubernetes/reflector-events.ts";
import { FakeFollowing } from "../../../test/support/fake-following.ts";
import { serviceImport } from "../../../test/support/hostile-imports.ts";
import { clusterProperty, nodeObject } from "../../../test/support/hostile-nodes.ts";
import { endpointSlice } from "../../../test/support/hostile-slices.ts";
import { Told } from "../../../test/support/told.ts";
import { cidr } from "../../../test/support/worlds.ts";
import { KubernetesSource } from "./kubernetes-source.ts";
import { RESOURCES } from "./queries.ts";

function started() {
  const fake = new FakeFollowing();
  const told = new Told();
  const states: string[] = [];
  const source = new KubernetesSource({
    follow: fake.follow,
    nodeName: "n1",
    clusterSetCidrs: [cidr("241.0.0.0/8")],
    observe: (resource, { reason }) => states.push(`${resource} ${reason}`),
  });
  source.start(told);
  return { fake, told, source, states };
}

test("asks for labelled slices and for its own Node only, and for properties where there are any", async () => {
  const { fake, source } = started();
  assert.deepEqual([...fake.queries.keys()], [...RESOURCES]);
  const slices = fake.queries.get("endpointslices");
  assert.equal(slices?.labelSelector, "multicluster.kubernetes.io/service-name");
  assert.equal(fake.queries.get("nodes")?.fieldSelector, "metadata.name=n1");
  assert.deepEqual(
    RESOURCES.filter((resource) => fake.queries.get(resource)?.optional === true),
    ["clusterproperties"],
  );
  assert.equal(fake.started, 4);
  await source.stop();
  assert.equal(fake.stopped, 4);
});

test("has listed when all four have, whatever their order", () => {
  const { fake, told } = started();
  for (const resource of [...RESOURCES].reverse()) {
    assert.deepEqual(told.news(), []);
    fake.tell(resource).listed();
  }
  assert.deepEqual(told.news(), ["listed"]);
});

describe("an object", () => {
  test("is told as a fact, with the time that it was learned at; and when it is gone", () => {
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

  test("that changed in nothing the agent reads is not told again, and its fact stays the same value", () => {
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

  test("that becomes unusable is a problem and keeps nothing of its old self, until it is mended", () => {
    const { fake, told } = started();
    const slices = fake.tell("endpointslices");
    slices.changed("demo/serve-c2", endpointSlice(), 1);
    told.news();
    slices.changed("demo/serve-c2", endpointSlice({ addressType: "FQDN" }), 2);
    slices.changed("demo/serve-c2", endpointSlice({ addressType: "FQDN", ports: null }), 3);
    const object = "EndpointSlice demo/serve-c2";
    assert.deepEqual(told.news(), [`problems ${object}: 1`, "no slice demo/serve-c2"]);
    slices.changed("demo/serve-c2", endpointSlice(), 4);
    assert.deepEqual(told.news(), [`problems ${object}: 0`, "slice demo/serve-c2"]);
  });

  test("that was not taken is told again when it comes again, with what is wrong with it", () => {
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

  test("that is gone takes its problems along, also if its own name was one", () => {
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

  test("that carries no multi-cluster label is nobody's business", () => {
    const { fake, told, source } = started();
    const unlabelled = { metadata: { namespace: "demo", name: "x" }, addressType: "FQDN" };
    fake.tell("endpointslices").changed("demo/x", unlabelled, 1);
    assert.deepEqual(told.news(), []);
    assert.equal(source.sizes.get("endpointslices"), 0);
  });
});

describe("the node", () => {
  test("is told as it is, and that it is gone", () => {
    const { fake, told } = started();
    fake.tell("nodes").changed("n1", nodeObject(), 1);
    assert.equal(told.node?.zone, "eu-west-a");
    fake.tell("nodes").removed("n1", 2);
    assert.equal(told.node, undefined);
    assert.deepEqual(told.news(), ["node", "node"]);
  });

  test("is not another one, should a server ignore what it was asked", () => {
    const { fake, told } = started();
    fake.tell("nodes").changed("n2", nodeObject({}, { name: "n2" }), 1);
    fake.tell("nodes").removed("n2", 2);
    assert.deepEqual(told.news(), []);
  });
});

test("properties are told all together, those that are wrong left out", () => {
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

test("the state of each connection is told from the start on, and kept for whoever asks", () => {
  const { fake, source, states } = started();
  const unanswered: ReflectorState = { reason: "listing", detail: "no answer yet" };
  assert.deepEqual(source.states, new Map(RESOURCES.map((resource) => [resource, unanswered])));
  fake.tell("nodes").state({ reason: "watching" });
  assert.deepEqual(states, [...RESOURCES.map((one) => `${one} listing`), "nodes watching"]);
  assert.deepEqual(source.states.get("nodes"), { reason: "watching" });
});
