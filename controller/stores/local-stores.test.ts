import assert from "node:assert/strict";
import { test } from "node:test";
import * as apiKeys from "../../api/keys.ts";
import { objectKey } from "../../api/names.ts";
import { LocalStores } from "./local-stores.ts";

function started() {
  const problems = new Map<string, readonly string[]>();
  const again = new Set<string>();
  const taken = new Map<string, string>();
  const stores = new LocalStores(
    { clusterSetCidrs: [], explicitVipCidrs: [] },
    {
      dirty: () => undefined,
      slices: () => undefined,
      taken: (object, ips) => void taken.set(object, ips.join()),
      namespace: () => undefined,
      property: () => undefined,
      problems: (object, list) =>
        void problems.set(
          object,
          list.map(({ reason }) => reason),
        ),
      room: (query, keys) => {
        for (const key of keys) again.add(`${query} ${key}`);
      },
    },
    {
      ...{ endpointslices: 100_000, serviceexports: 100_000 },
      ...{ serviceimports: 100_000, services: 100_000 },
      ...{ importedslices: 100_000, failoverslices: 100_000 },
    },
  );
  return { stores, problems, again, taken };
}

function slice(namespace: string, i: number, length: number) {
  const long = (most: number) => "n".repeat(most);
  const endpoints = Array.from({ length }, (_, e) => ({
    addresses: [`10.1.${e >> 8}.${e & 255}`],
    ...(length > 10 && { nodeName: long(253), zone: long(63), hostname: long(63) }),
  }));
  const labels = { [apiKeys.LABEL_SERVICE_SLICE]: "web" };
  const creationTimestamp = `2025-01-01T00:00:0${i}Z`;
  return {
    metadata: { name: `web-${i}`, namespace, uid: `u${i}`, labels, creationTimestamp },
    ...{ addressType: "IPv4", ports: [{ name: "", port: 80, protocol: "TCP" }], endpoints },
  };
}

for (const first of ["aa", "zz"]) {
  test(`slices of namespace ${first} that no export uses take no memory that others need, before and after a restart`, () => {
    const { stores, problems, again } = started();
    const { endpointslices: sink } = stores.sinks();
    const list = () => {
      stores.listing("endpointslices", true);
      const put = [() => sink.changed("shop/web-0", slice("shop", 0, 10))];
      for (let i = 0; i < 9; i++)
        put.push(() => sink.changed(`${first}/web-${i}`, slice(first, i, 100)));
      for (const one of first === "aa" ? put.toReversed() : put) one();
      stores.listing("endpointslices", false);
    };
    list();
    const greedy = objectKey(first, "web");
    assert.equal(stores.serviceSlices.factsOf(objectKey("shop", "web")).length, 1);
    assert.deepEqual([...stores.serviceSlices.keysOf(greedy)], [`${first}/web-0`]);
    assert.ok(stores.serviceSlices.reasonsOf(greedy).has("too-much-memory"));
    const object = `EndpointSlices of namespace ${first}`;
    assert.deepEqual(problems.get(object), ["too-much-memory"]);
    list();
    assert.deepEqual([...stores.serviceSlices.keysOf(greedy)], [`${first}/web-0`]);
    assert.equal(again.size, 0);
    for (let i = 0; i < 8; i++) sink.removed(`${first}/web-${i}`);
    assert.ok(again.has(`endpointslices ${first}/web-8`), [...again].join());
    assert.deepEqual(problems.get(object), []);
  });
}

test("exports with much metadata are limited by namespace", () => {
  const { stores, problems } = started();
  const { serviceexports: sink } = stores.sinks();
  const put = (namespace: string, i: number, value: string) =>
    sink.changed(`${namespace}/web-${i}`, {
      metadata: {
        ...{ namespace, name: `web-${i}`, uid: `u${i}` },
        creationTimestamp: `2025-01-01T00:00:0${i}Z`,
      },
      spec: { exportedAnnotations: { "example.com/text": value } },
    });
  for (let i = 0; i < 9; i++) put("greedy", i, "x".repeat(30_000));
  put("shop", 9, "x");
  assert.notEqual(stores.exports.fact("shop/web-9"), undefined);
  const whole = [...stores.exports.facts()].filter(({ isReduced }) => !isReduced);
  assert.equal(whole.length, 4);
  assert.equal(stores.exports.fact("greedy/web-8")?.isReduced, true, "its condition can say so");
  assert.deepEqual(problems.get("ServiceExports of namespace greedy"), ["too-much-memory"]);
});

test("imports with long specs or many ports, and Services, are limited by namespace, and their addresses stay taken", () => {
  const { stores, problems, taken, again } = started();
  const { serviceimports, services } = stores.sinks();
  const name = (i: number) => `${"p".repeat(50)}-${i}`;
  const ports = Array.from({ length: 100 }, (_, i) => ({
    name: name(i),
    port: 1 + i,
    protocol: "TCP",
  }));
  const long = { type: "ClusterSetIP", note: "x".repeat(20_000) };
  for (const [kind, sink, resource, spec, address] of [
    ["ServiceImport", serviceimports, "serviceimports", long, "ips"],
    ["ServiceImport", serviceimports, "serviceimports", { type: "ClusterSetIP", ports }, "ips"],
    ["Service", services, "services", { ipFamilies: ["IPv4"], ports }, "clusterIPs"],
  ] as const) {
    const put = (namespace: string, i: number, more: object) =>
      sink.changed(`${namespace}/web-${i}`, {
        metadata: {
          ...{ namespace, name: `web-${i}`, uid: `u${i}`, resourceVersion: "1" },
          creationTimestamp: `2025-01-01T00:00:0${i}Z`,
        },
        spec: { ...more, [address]: [`10.9.0.${i}`] },
      });
    stores.listing(resource, true);
    for (let i = 0; i < 9; i++) put("greedy", i, spec);
    put("shop", 9, spec);
    stores.listing(resource, false);
    const isWhole = (key: "greedy/web-0" | "greedy/web-8" | "shop/web-9") => {
      const fact =
        kind === "Service" ? stores.services.fact(key)?.service : stores.imports.fact(key);
      return fact !== undefined && !fact.isReduced;
    };
    assert.deepEqual([isWhole("shop/web-9"), isWhole("greedy/web-0")], [true, true]);
    assert.equal(isWhole("greedy/web-8"), false);
    assert.equal(taken.get(`${kind} greedy/web-8`), "10.9.0.8");
    assert.deepEqual(problems.get(`${kind}s of namespace greedy`), ["too-much-memory"]);
    for (let i = 0; i < 8; i++) sink.removed(`greedy/web-${i}`);
    assert.ok(again.has(`${resource} greedy/web-8`));
    put("greedy", 8, spec);
    assert.equal(isWhole("greedy/web-8"), true);
    for (const key of ["greedy/web-8", "shop/web-9"]) sink.removed(key);
  }
});

for (const [label, manager, object] of [
  [apiKeys.LABEL_SERVICE_SLICE, apiKeys.FAILOVER_MANAGER, "Failover EndpointSlices"],
  [apiKeys.LABEL_SERVICE_NAME, apiKeys.CONTROLLER_NAME, "Imported EndpointSlices"],
] as const) {
  test(`slices that a tenant labels as the controller's (${object}) are limited by namespace, and stay known, to be deleted`, () => {
    const { stores, problems } = started();
    const { endpointslices: sink } = stores.sinks();
    const store =
      manager === apiKeys.FAILOVER_MANAGER ? stores.failoverSlices : stores.importedSlices;
    const ports = Array.from({ length: 100 }, (_, i) => ({
      ...{ name: `${"p".repeat(50)}-${i}`, port: 1 + i, protocol: "TCP" },
    }));
    const put = (namespace: string, i: number) => {
      const made = slice(namespace, i, 100);
      const labels = {
        [label]: "web",
        [apiKeys.LABEL_MANAGED_BY]: manager,
        [apiKeys.LABEL_SOURCE_CLUSTER]: "c2",
      };
      const metadata = { ...made.metadata, labels, resourceVersion: "1" };
      sink.changed(`${namespace}/web-${i}`, { ...made, metadata, ports });
    };
    stores.listing("endpointslices", true);
    for (let i = 0; i < 9; i++) put("greedy", i);
    put("shop", 9);
    stores.listing("endpointslices", false);
    assert.deepEqual(problems.get(`${object} of namespace greedy`), ["too-much-memory"]);
    const whole = [...store.facts()].filter(({ ports }) => ports.length > 0);
    assert.ok(whole.length < 9, `${whole.length}`);
    assert.ok(whole.some(({ key }) => key === "shop/web-9"));
    assert.equal(store.size, 10);
  });
}
