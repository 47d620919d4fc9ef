import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../stages/agent-process.ts";
import {
  ControllerStage,
  IMPORT,
  PEER,
  SHORT_LEASE,
  StagedCluster,
  secretOf,
} from "./controller-stage.ts";
import { OURS } from "./release.ts";
import { meshRights } from "./rights.ts";
import { Witness } from "./witness.ts";

// c1's API server fails; c2 is well; c3 reads both. Nothing is lost, c2 is not disturbed, and when it is over, all is as it
// should be by itself. common/kubernetes/reflector*.test.ts has slow, invalid and empty answers. At the end, c1's leader is stopped.

/** What the second controller of c1 is called to its API server. */
const FELLOW = "fellow";
const KEYS = Array.from({ length: 40 }, (_, i) => `shop/many-${i}`);
/** Writes after which a leader is stopped that has many more to do. */
const UNDER_WAY = 5;
/** As many writes as `Flow` makes at the same time: so many may wait for an answer, or for a connection. */
const MOST_LATE = 16;
const PATIENCE_MS = 3000;

let stage: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
let c3: StagedCluster;
let losses: Witness;
before(async () => {
  stage = await ControllerStage.open({
    clusters: ["c1", "c2", "c3"],
    shortLeases: ["c1"],
    users: [FELLOW],
  });
  [c1, c2, c3] = [stage.cluster("c1"), stage.cluster("c2"), stage.cluster("c3")];
  await stage.start();
  for (const [cluster, key] of [
    [c1, "shop/web"],
    [c1, "shop/cart"],
    [c2, "shop/web"],
  ] as const) {
    await cluster.offer(key, addressOf(cluster, 0));
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

test("a controller that restarts while a peer is dead follows its own cluster's ports, and has what it exports anew beside what the peer exported", async () => {
  const http = { name: "http", port: 80, protocol: "TCP" };
  const admin = { name: "admin", port: 9090, protocol: "TCP" };
  c1.plane.freeze();
  await c3.untilReady("shop/web", { [addressOf(c1, 0)]: "serving" });
  await c2.replace();
  await c2.serve("shop/web", all(c2), { ports: [http, admin] });
  await c2.offer("shop/cart", addressOf(c2, 0));
  for (const cluster of [c2, c3]) {
    await cluster.untilImported("shop/cart", [addressOf(c1, 0), addressOf(c2, 0)]);
    await eventually(async () => {
      const found = await cluster.find(IMPORT, "shop/web");
      const { ports = [] } = (found?.spec ?? {}) as { ports?: { port: number }[] };
      assert.deepEqual(
        ports.map(({ port }) => port),
        [80, 9090],
      );
    });
    await cluster.untilReady("shop/web", { [addressOf(c1, 0)]: "serving", ...ready(c2) });
  }
  c1.plane.thaw();
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
  await c1.offer("shop/late", "10.1.0.200");
  await c3.untilImported("shop/late", ["10.1.0.200"]);
  await c1.plane.restore(backup);
  await elsewhere();
  await c1.endpoints("shop/web", all(c1));
  await c3.untilReady("shop/web", { ...ready(c1), ...ready(c2) });
  await c3.untilGone("shop/late");
  const lost = losses.taken();
  const others = lost.filter((one) => !one.includes("shop/late"));
  assert.deepEqual(others, []);
  assert.ok(lost.length > 0, "a loss is seen where there is one");
});

test("a leader that was stopped during its work until another took over changes nothing after SIGCONT", async () => {
  const { plane } = c1;
  const rights = meshRights("c1", FELLOW, FELLOW).filter(({ kind }) => kind.endsWith("Binding"));
  for (const { metadata, ...binding } of rights) {
    const name = `${metadata.name}-${FELLOW}`;
    await plane.admin.apply({ ...binding, metadata: { ...metadata, name } });
  }
  const scale = (...addresses: string[]) =>
    Promise.all(KEYS.map((key) => c1.endpoints(key, addresses)));
  for (const key of KEYS) {
    await c1.offer(key, "10.1.0.1");
  }
  for (const key of KEYS) await c2.untilImported(key, ["10.1.0.1"]);
  const flags = ["--kubeconfig", plane.kubeconfig({ user: FELLOW }), "--cluster-id", "c1"];
  await using fellow = new StagedCluster({
    ...{ id: "c1", plane, program: OURS.controller, user: FELLOW },
    flags: [...flags, "--lease-duration", SHORT_LEASE],
  });
  await fellow.launch();
  await fellow.untilLogged('"reason":"standby"');
  await using witness = new Witness(c1);
  // Once before, so that the leader has connections for so much at once.
  await scale("10.1.0.1", "10.1.0.2");
  const burst = scale("10.1.0.1", "10.1.0.3");
  await witness.writesMore(UNDER_WAY, PATIENCE_MS);
  c1.process.signal("SIGSTOP");
  await burst;
  await fellow.untilLogged("this replica reconciles");
  await scale("10.1.0.4");
  // Each object is another one then.
  for (const key of KEYS) await c2.untilImported(key, ["10.1.0.4"]);
  const before = c1.writes();
  c1.process.signal("SIGCONT");
  await eventually(() => {
    const states = c1.log.split("\n").filter((line) => line.includes("election state changed"));
    assert.match(states.at(-1) ?? "", /"reason":"standby"/);
  });
  for (const cluster of [fellow, c2])
    for (const key of KEYS) await cluster.untilImported(key, ["10.1.0.4"]);
  await fellow.atRest();
  // What waited for a connection is sent before the clock is looked at: it meets objects that are others by now, or gone. Of
  // what was sent by half, the rest does not come any more (504).
  const late = c1.writes().slice(before.length);
  assert.ok(late.length <= MOST_LATE, JSON.stringify(late));
  for (const { code, uri } of late) assert.ok([404, 409, 504].includes(code), `${code} ${uri}`);
  assert.deepEqual(witness.faults, []);
});
