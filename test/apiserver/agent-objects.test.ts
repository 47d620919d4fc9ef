import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ObjectKey } from "../../api/names.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { AgentStage } from "./agent-stage.ts";
import type { Asked } from "./audit.ts";

/** Of imports, and of their slices: three pages. */
const COUNT = 1_100;
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const TARGET = { ...HTTP, port: 8080 };

let stage: AgentStage;
before(async () => {
  stage = await AgentStage.open({ flags: ["--cluster-id", "c1"] });
  await stage.plane.admin.createAll(many());
});
after(() => stage[Symbol.asyncDispose]());

function* many(): Generator<object> {
  yield record();
  for (let i = 0; i < COUNT; i++) {
    const [high, low] = [i >> 8, i & 255];
    const key: ObjectKey = `shop/many-${i}`;
    yield importObject(key, [`241.1.${high}.${low}`], [HTTP]);
    yield sliceObject(`many-${i}-c1`, key, { cluster: "c1" }, [TARGET], [`10.1.${high}.${low}`]);
    if (i % 4 !== 0) continue;
    // None of ours.
    yield {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        namespace: "shop",
        name: `own-${i}`,
        labels: { "kubernetes.io/service-name": `own-${i}` },
      },
      addressType: "IPv4",
      endpoints: [{ addresses: [`10.9.${high}.${low}`] }],
    };
  }
}

/** What a registry on the same API server holds: an import by its kind, and by its name none. */
function record(): object {
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: {
      namespace: "shop",
      name: "web.other",
      labels: { "clusterset-proxy.io/record": "web.other" },
    },
    spec: { type: "ClusterSetIP", ports: [HTTP] },
  };
}

/** Resources that preflight reads, and no watch follows. */
const SERVICE_CIDRS = "/apis/networking.k8s.io/v1/servicecidrs?";

/** Nothing was read but the five kinds, of slices and addresses only ours, and what preflight looks at; nothing was written. */
function assertModest(asked: readonly Asked[]): void {
  assert.ok(asked.length >= 5);
  const paths = [
    "/apis/multicluster.x-k8s.io/v1beta1/serviceimports",
    "/apis/discovery.k8s.io/v1/endpointslices",
    "/api/v1/nodes",
    "/apis/about.k8s.io/v1beta1/clusterproperties",
    "/apis/networking.k8s.io/v1/ipaddresses",
  ];
  for (const { verb, uri } of asked) {
    const { pathname, searchParams } = new URL(uri, "https://server");
    if (verb === "list" && uri.startsWith(SERVICE_CIDRS)) continue;
    assert.ok(verb === "list" || verb === "watch", `${verb} ${uri}`);
    assert.ok(paths.includes(pathname), uri);
    if (pathname.endsWith("/nodes"))
      assert.equal(searchParams.get("fieldSelector"), "metadata.name=n1");
    // A request for one object of any kind returns the server's present version.
    if (searchParams.get("limit") === "1") continue;
    if (pathname.endsWith("/endpointslices"))
      assert.equal(searchParams.get("labelSelector"), "multicluster.kubernetes.io/service-name");
    if (pathname.endsWith("/ipaddresses")) {
      const ours = "ipaddress.kubernetes.io/managed-by=clusterset-controller";
      assert.equal(searchParams.get("labelSelector"), ours);
    }
    if (pathname.endsWith("/serviceimports"))
      assert.equal(searchParams.get("labelSelector"), "!clusterset-proxy.io/record");
  }
}

async function assertAllThere(): Promise<void> {
  const rules = await stage.rules();
  const there = new Set(
    Array.from(rules.matchAll(/"shop\/(many-\d+):http local c1"/g), (m) => m[1]),
  );
  assert.equal(there.size, COUNT);
  assert.doesNotMatch(rules, /--to-destination 10\.9\./);
}

test("Thousands of objects arrive by streaming lists, without other requests", async () => {
  await stage.restartAgent();
  await assertAllThere();
  assertModest(stage.asked());
  const asked = stage.asked().filter(({ uri }) => !uri.startsWith(SERVICE_CIDRS));
  assert.equal(asked.length, 5, JSON.stringify(asked));
  for (const { uri, verb, code } of asked) {
    assert.deepEqual([verb, code], ["watch", 200]);
    assert.match(uri, /sendInitialEvents=true/);
  }
  assert.doesNotMatch(stage.agent.log, /web\.other/);
});

test("A server without streaming lists is listed in pages; a restarted agent writes nothing", async () => {
  await stage.agent.stop();
  await stage.plane.stop();
  await stage.plane.start({ watchList: false });
  const before = stage.asked().length;
  await stage.restartAgent();
  await assertAllThere();
  assert.equal(await stage.operations(), 0);
  const asked = stage.asked().slice(before);
  assertModest(asked);
  for (const resource of ["serviceimports", "endpointslices"]) {
    const pages = asked.filter(({ verb, uri }) => verb === "list" && uri.includes(`/${resource}?`));
    assert.equal(pages.length, 3, JSON.stringify(pages));
    const continued = pages.map(({ uri }) =>
      new URL(uri, "https://s").searchParams.has("continue"),
    );
    assert.deepEqual(continued, [false, true, true]);
    assert.ok(pages.every(({ uri, code }) => uri.includes("limit=500") && code === 200));
  }
  const changed = sliceObject(
    "many-7-c1",
    "shop/many-7",
    { cluster: "c1" },
    [TARGET],
    ["10.8.0.7"],
  );
  await stage.plane.admin.apply(changed);
  await stage.untilRules(/"shop\/many-7:http local c1" .*10\.8\.0\.7:8080/);
  assert.equal(await stage.operations(), 1);
});
