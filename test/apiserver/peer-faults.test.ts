import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import { ANNOTATION_DRAIN } from "../../api/keys.ts";
import { eventually } from "../stages/agent-process.ts";
import {
  ControllerStage,
  IMPORT,
  PEER,
  peerSecret,
  SLICE,
  type StagedCluster,
} from "./controller-stage.ts";
import { CoreDns } from "./core-dns.ts";
import { HONEST, type Meddling, PeerProxy, SLOW } from "./peer-proxy.ts";
import { Witness } from "./witness.ts";

// c1's API server fails in every way that it can; c2 is well; c3 reads both. Nothing is lost, c2 is not disturbed, and
// when it is over, all is as it should be by itself.

let stage: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
let c3: StagedCluster;
let proxy: PeerProxy;
let losses: Witness;
before(async () => {
  stage = await ControllerStage.open({
    clusters: ["c1", "c2", "c3"],
    shortLeases: ["c1"],
  });
  [c1, c2, c3] = [stage.cluster("c1"), stage.cluster("c2"), stage.cluster("c3")];
  proxy = await PeerProxy.open(c1.plane);
  await c3.plane.admin.apply({
    ...(await peerSecret(c1)),
    stringData: { kubeconfig: proxy.kubeconfig(PEER) },
  });
  await stage.start();
  for (const [cluster, key] of [
    [c1, "shop/web"],
    [c1, "shop/cart"],
    [c2, "shop/web"],
  ] as const) {
    await cluster.serve(key, [addressOf(cluster, 0)]);
    await cluster.export(key);
    await c3.namespace("shop");
  }
  await c3.untilImported("shop/web", [addressOf(c1, 0), addressOf(c2, 0)]);
  await c3.untilImported("shop/cart", [addressOf(c1, 0)]);
  losses = new Witness(c3);
});
after(async () => {
  await losses[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

/** Endpoints are only added: each removal is a loss. */
let count = 0;
function addressOf({ id }: StagedCluster, i: number): string {
  return `10.${id.slice(1)}.0.${10 + i}`;
}
function all(cluster: StagedCluster): string[] {
  return Array.from({ length: count + 1 }, (_, i) => addressOf(cluster, i));
}
function ready(cluster: StagedCluster): Record<string, string> {
  return Object.fromEntries(all(cluster).map((one) => [one, "ready"]));
}

/** c2 gets one more endpoint, and c3 imports it, whatever c1's state. */
async function elsewhere(): Promise<void> {
  count++;
  await c2.endpoints("shop/web", all(c2));
  await c3.untilReady("shop/web", ready(c2));
}

/** c1 has one more endpoint, too, and c3 sees all that there is. */
async function recovered(): Promise<void> {
  await c1.endpoints("shop/web", all(c1));
  await c3.untilReady("shop/web", { ...ready(c1), ...ready(c2) });
  assert.deepEqual(losses.taken(), []);
}

test("a peer whose API server does not respond is a last resort until its return", async () => {
  c1.plane.freeze();
  await elsewhere();
  await c3.untilReady("shop/web", { [addressOf(c1, 0)]: "serving" });
  await c3.untilReady("shop/cart", { [addressOf(c1, 0)]: "serving" });
  c1.plane.thaw();
  await recovered();
});

test("a peer whose API server is killed and restarted is as before", async () => {
  await c1.plane.kill();
  await elsewhere();
  await c1.plane.start();
  await recovered();
});

test("changes of a slow peer arrive late, and none is lost", async () => {
  proxy.meddle(SLOW);
  await elsewhere();
  await recovered();
  proxy.meddle(HONEST);
});

/** The response to any request, with status 200. */
function says(type: string, text: string): Meddling {
  return (_url, response: ServerResponse) => {
    response.writeHead(200, { "content-type": type }).end(text);
    return undefined;
  };
}

const STRANGER = { apiVersion: "v1", kind: "Pod", metadata: { name: "x", resourceVersion: "1" } };
const GARBAGE: Readonly<Record<string, Meddling>> = {
  "a page of a proxy": says("text/html", "<!doctype html><title>Sign in</title>"),
  "JSON that breaks off": says("application/json", '{"kind":"List","metadata":{"resourceVer'),
  "a list of something else": says(
    "application/json",
    JSON.stringify({ kind: "PodList", metadata: {}, items: [STRANGER, null, 7] }),
  ),
  "events of something else": says(
    "application/json",
    `${JSON.stringify({ type: "ADDED", object: STRANGER })}\n{"type":"ADDED","object":null}\n`,
  ),
  "an object without end": says(
    "application/json",
    `{"type":"ADDED","object":{"metadata":{"name":"${"x".repeat(20_000_000)}"}}}\n`,
  ),
};

test("invalid responses of a peer change nothing", async () => {
  for (const garbage of Object.values(GARBAGE)) {
    proxy.meddle(garbage);
    await elsewhere();
    assert.deepEqual(losses.taken(), []);
  }
  await c3.untilLogged('"garbage"');
  proxy.meddle(HONEST);
  await recovered();
});

/** Lists are empty, with success, as those of a server that has not loaded its objects. */
const EMPTY: Meddling = (url, response) => {
  const { pathname, searchParams } = url;
  if (!pathname.includes("/namespaces/clusterset-registry-c1/")) return "pass";
  const metadata = { resourceVersion: "9999999" };
  if (searchParams.get("watch") === null) {
    const [, group, version] = /^\/apis\/([^/]+)\/([^/]+)\//.exec(pathname) ?? [];
    const list = { kind: "List", apiVersion: `${group}/${version}`, metadata, items: [] };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(list));
  } else if (searchParams.get("sendInitialEvents") === "true") {
    const annotations = { "k8s.io/initial-events-end": "true" };
    const object = { metadata: { ...metadata, annotations } };
    response.writeHead(200, { "content-type": "application/json" });
    response.write(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
  } else response.writeHead(410).end();
  return undefined;
};

test("a peer that lists nothing once after an interruption loses nothing", async () => {
  proxy.meddle(EMPTY);
  await c3.untilLogged('"doubtful"');
  await elsewhere();
  proxy.meddle(HONEST);
  await recovered();
});

test("a peer restored from a backup keeps the exports of the backup, and others are finally withdrawn", async () => {
  const backup = await c1.plane.backup();
  await c1.serve("shop/late", ["10.1.0.200"]);
  await c1.export("shop/late");
  await c3.untilImported("shop/late", ["10.1.0.200"]);
  await c1.plane.restore(backup);
  await elsewhere();
  await c1.endpoints("shop/web", all(c1));
  await c3.untilReady("shop/web", { ...ready(c1), ...ready(c2) });
  await c3.untilGone("shop/late");
  const lost = losses.taken();
  assert.deepEqual(
    lost.filter((one) => !one.includes("shop/late")),
    [],
  );
  assert.ok(lost.length > 0, "a loss is seen where there is one");
});

/** Waits until the condition of c3's import of the headless Service says this. */
async function untilSaid(text: string): Promise<void> {
  await eventually(async () => {
    const status = JSON.stringify((await c3.find(IMPORT, "shop/db"))?.status);
    assert.ok(status.includes(text), `${status}\n${c3.log}`);
  }, 90_000);
}

test("names of a headless Service and its pods stay while its cluster's API server is down, the importing controller restarts, and the cluster is drained", async () => {
  const address = "10.1.0.99";
  await c1.serve("shop/db", [], { clusterIP: "None" });
  await c1.plane.admin.apply({
    ...SLICE,
    metadata: { namespace: "shop", name: "db-1", labels: { "kubernetes.io/service-name": "db" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: [{ addresses: [address], conditions: { ready: true }, hostname: "db-0" }],
  });
  await c1.export("shop/db");
  await using dns = await CoreDns.start(c3.plane);
  const assertNamed = async () => {
    for (const name of ["db", "db-0.c1.db"]) {
      await dns.untilAnswered(`${name}.shop.svc.clusterset.local`, [address]);
    }
    await c3.untilReady("shop/db", { [address]: "ready" });
  };
  await assertNamed();
  await c1.plane.stop();
  await untilSaid("Stale: c1.");
  await assertNamed();
  await c3.replace();
  await untilSaid("not-heard");
  await assertNamed();
  await c1.plane.start();
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "clusterset-proxy", name: "peer-c1" },
  };
  const drain = async (text: string | null) => {
    const annotations = { [ANNOTATION_DRAIN]: text };
    await c3.plane.admin.patch(secret, { metadata: { annotations } });
  };
  await drain(`from=${new Date().toISOString()}; for=1h`);
  await untilSaid("Drained: c1");
  await assertNamed();
  await drain(null);
  await recovered();
});
