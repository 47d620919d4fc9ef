import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ObjectKey } from "../../api/names.ts";
import { importObject, manifest, sliceObject } from "../generators/objects.ts";
import { AgentProcess, ManifestDirectory } from "../stages/agent-process.ts";
import { AgentStage } from "./agent-stage.ts";
import type { Asked } from "./audit.ts";
import { serviceSlice } from "./staged-cluster.ts";

// What an agent reads of an API server: kinds that come and go, addresses that are in use, and thousands of objects.

/** Of imports, and of their slices: three pages. */
const COUNT = 1_100;
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const TARGET = { ...HTTP, port: 8080 };
/** The kind that is in question; ClusterProperties, which may be missing, are looked for every half minute. */
const IMPORTS = ["serviceimports"] as const;
const WEB = importObject("shop/web", ["241.0.1.7"], [HTTP]);
const WEB_ALPHA = { ...WEB, apiVersion: "multicluster.x-k8s.io/v1alpha1" };

let stage: AgentStage;
before(async () => {
  stage = await AgentStage.open({ crds: false, flags: ["--cluster-id", "c1"] });
});
after(() => stage[Symbol.asyncDispose]());

function slice(endpoint: string): object {
  return sliceObject("web-c1", "shop/web", { cluster: "c1" }, [TARGET], [endpoint]);
}

/** Lets much happen at once, as far as the agent can see. */
async function unseen(happens: () => Promise<unknown>): Promise<void> {
  stage.agent.signal("SIGSTOP");
  await happens();
  stage.agent.signal("SIGCONT");
}

test("Without CRDs, the agent waits and keeps the rules of its predecessor", async () => {
  const manifests = new ManifestDirectory(stage.lab, "manifests");
  manifests.write("web", WEB, slice("10.1.0.11"));
  const flags = ["--node-name", "n1", "--cluster-id", "c1"];
  const range = ["--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
  const predecessor = new AgentProcess(stage.node, manifests.path, [...flags, ...range]);
  await predecessor.start();
  await predecessor.stop();
  const rules = await stage.rules();
  assert.match(rules, /"shop\/web:http local c1" .*10\.1\.0\.11:8080/);
  await stage.plane.admin.create(slice("10.1.0.11"));

  stage.newAgent().launch();
  const page = await stage.untilSeen("not-served", IMPORTS);
  assert.match(page, /readyz check failed\n$/);
  assert.equal(await stage.rules(), rules);
  assert.equal(await stage.operations(), 0);

  await unseen(async () => {
    await stage.plane.installCrds({ versions: ["v1alpha1"] });
    await stage.plane.admin.create(WEB_ALPHA);
  });
  await stage.agent.page("/readyz");
  assert.equal(await stage.rules(), rules);
  assert.equal(await stage.operations(), 0, "what a predecessor wrote is not written again");
});

test("A second served version changes nothing, and can replace the version in use", async () => {
  const rules = await stage.rules();
  await stage.plane.installCrds();
  assert.ok(stage.asked().some(({ uri }) => uri.includes("/v1alpha1/serviceimports?")));
  await stage.plane.admin.apply(importObject("shop/web", ["241.0.1.7", "241.0.1.8"], [HTTP]));
  await stage.untilRules(/-d 241\.0\.1\.8\/32/);
  await stage.plane.admin.apply(WEB);
  await stage.untilRules(/^(?!.*241\.0\.1\.8)/s);
  assert.equal(await stage.rules(), rules);
  const operations = await stage.operations();

  await stage.plane.installCrds({ versions: ["v1beta1"] });
  await stage.untilAsked(({ verb, uri, code }) => {
    return verb === "watch" && uri.includes("/v1beta1/serviceimports?") && code === 200;
  });
  await stage.untilFollowed(IMPORTS);
  assert.equal(await stage.rules(), rules);
  assert.equal(await stage.operations(), operations);
  await stage.plane.admin.apply(importObject("shop/web", ["241.0.1.9"], [HTTP]));
  await stage.untilRules(/-d 241\.0\.1\.9\/32/);
});

test("When a kind is no longer served and its objects are still stored, no rule is deleted", async () => {
  await stage.restartAgent();
  const [rules, operations] = [await stage.rules(), await stage.operations()];
  await stage.plane.installCrds({ versions: [] });
  await stage.untilSeen("not-served", IMPORTS);
  assert.equal(await stage.agent.page("/readyz"), "ok\n");
  assert.equal(await stage.rules(), rules);
  await stage.plane.installCrds();
  await stage.untilFollowed(IMPORTS);
  assert.equal(await stage.rules(), rules);
  assert.equal(await stage.operations(), operations);
});

test("When CRDs are deleted, the rules of their objects are deleted, and return with the objects", async () => {
  await stage.restartAgent();
  const rules = await stage.rules();
  await stage.plane.removeCrds();
  await stage.untilRules(/^(?!.*shop\/web)/s);
  await stage.untilSeen("not-served", IMPORTS);
  assert.equal(await stage.agent.page("/readyz"), "ok\n");
  await stage.plane.installCrds();
  await stage.plane.admin.create(importObject("shop/web", ["241.0.1.9"], [HTTP]));
  await stage.untilRules(/shop\/web:http local c1/);
  assert.equal(await stage.rules(), rules);
});

const OTHER_NODE = {
  ...manifest("Node", "n9"),
  spec: { podCIDRs: ["10.99.9.0/24"] },
};
const ADDRESS = { status: { addresses: [{ type: "InternalIP", address: "203.0.113.99" }] } };
const API_SERVER = serviceSlice("default/kubernetes", [{ addresses: ["203.0.113.6"] }]);

test("an import cannot take an address that the cluster uses, though every range is allowed", async () => {
  const { admin } = stage.plane;
  await admin.apply(OTHER_NODE);
  await admin.patch(OTHER_NODE, ADDRESS, "status");
  await admin.apply(API_SERVER);
  await stage.node.exec(["ip", "address", "add", "198.18.5.1/24", "dev", "lo"]);
  const taken = {
    dns: "10.96.0.10",
    "other-node": "203.0.113.99",
    "other-pod": "10.99.9.7",
    "api-endpoint": "203.0.113.6",
    "api-server": new URL(stage.plane.url).hostname,
    node: stage.node.address("IPv4"),
    subnet: "198.18.5.77",
    metadata: "169.254.169.254",
  };
  for (const [name, vip] of Object.entries(taken)) {
    await admin.apply(importObject(`shop/${name}`, [vip], [HTTP]));
  }
  await admin.apply(importObject("shop/free", ["198.51.100.7"], [HTTP]));
  await stage.restartAgent("--explicit-vip-cidrs", "0.0.0.0/0,::/0");
  const rules = await stage.rules();
  for (const [name, vip] of Object.entries(taken)) {
    const plan = JSON.parse(await stage.agent.page(`/plan/shop/${name}`));
    assert.deepEqual(plan.vips, [{ address: vip, reason: "vip-reserved" }], name);
    assert.ok(!rules.includes(`-d ${vip}/32`), name);
  }
  assert.match(rules, /-d 198\.51\.100\.7\/32 .*shop\/free/);
});

function* many(): Generator<object> {
  yield record();
  for (let i = 0; i < COUNT; i++) {
    const [high, low] = [i >> 8, i & 255];
    const key: ObjectKey = `shop/many-${i}`;
    yield importObject(key, [`241.1.${high}.${low}`], [HTTP]);
    yield sliceObject(`many-${i}-c1`, key, { cluster: "c1" }, [TARGET], [`10.1.${high}.${low}`]);
    if (i % 4 !== 0) continue;
    // None of ours.
    yield serviceSlice(`shop/own-${i}`, [{ addresses: [`10.9.${high}.${low}`] }]);
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
  if (stage.agent.started) await stage.agent.stop();
  await stage.plane.admin.createAll(many());
  const before = stage.asked().length;
  await stage.restartAgent();
  await assertAllThere();
  const all = stage.asked().slice(before);
  assertModest(all);
  const asked = all.filter(({ uri }) => !uri.startsWith(SERVICE_CIDRS));
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
