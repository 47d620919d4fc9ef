import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../stages/agent-process.ts";
import {
  ControllerStage,
  IMPORT,
  PEER,
  SLICE,
  type StagedCluster,
  secretOf,
} from "./controller-stage.ts";
import { CoreDns } from "./core-dns.ts";
import { Witness } from "./witness.ts";

// c1's API server fails; c2 is well; c3 reads both. Nothing is lost, c2 is not disturbed, and when it is over, all is as it
// should be by itself. common/kubernetes/reflector*.test.ts has slow, invalid and empty answers.

let stage: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
let c3: StagedCluster;
let losses: Witness;
before(async () => {
  stage = await ControllerStage.open({
    clusters: ["c1", "c2", "c3"],
    shortLeases: ["c1"],
  });
  [c1, c2, c3] = [stage.cluster("c1"), stage.cluster("c2"), stage.cluster("c3")];
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

test("a peer that rejects the token is a last resort, with the reason, until there is another token", async () => {
  await c1.plane.rotateToken(PEER);
  await elsewhere();
  await c3.untilReady("shop/web", { [addressOf(c1, 0)]: "serving" });
  await c3.untilLogged('"reason":"unauthorized"');
  const metrics = await c3.page("/metrics");
  assert.match(metrics, /^clusterset_controller_cluster_up{member="c1"} 0$/m);
  assert.match(metrics, /^clusterset_controller_cluster_alive{member="c1"} 0$/m);
  for (const cluster of [c2, c3]) await cluster.plane.admin.apply(secretOf(c1));
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

test("names of a headless Service and its pods stay while its cluster's API server is down", async () => {
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
    for (const name of ["db", "db-0.c1.db"])
      await dns.untilAnswered(`${name}.shop.svc.clusterset.local`, [address]);
  };
  await assertNamed();
  await c1.plane.stop();
  await eventually(async () => {
    const status = JSON.stringify((await c3.find(IMPORT, "shop/db"))?.status);
    assert.ok(status.includes("Stale: c1."), `${status}\n${c3.log}`);
  }, 90_000);
  await assertNamed();
  await c3.untilReady("shop/db", { [address]: "ready" });
  await c1.plane.start();
  await recovered();
});
