import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandLine } from "../stages/command-line.ts";
import { ControllerStage, type StagedCluster, serviceSlice } from "./controller-stage.ts";
import { CoreDns } from "./core-dns.ts";

// Members of a database find each other by the names of a headless Service, as CoreDNS serves them: in a drain, while the hub is away,
// and while the API server of their cluster is away for two minutes. An import with a VIP shows when controllers have noticed.

const DB = "10.1.0.99";
const WEB = "10.1.0.7";
const NAMES = ["db", "db-0.c1.db"].map((name) => `${name}.shop.svc.clusterset.local`);

/** As long as the only control plane of a cluster takes to be upgraded. */
const UPGRADE_MS = 120_000;

let stage: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
let user: CommandLine;
/** Of each cluster. */
const servers: CoreDns[] = [];
before(async () => {
  stage = await ControllerStage.open({
    ...{ clusters: ["c1", "c2"], registry: "hub", shortLeases: ["c1", "c2"] },
  });
  [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  await stage.start();
  await c2.namespace("shop");
  await c1.offer("shop/web", WEB);
  await c1.serve("shop/db", [], { clusterIP: "None" });
  const member = { addresses: [DB], conditions: { ready: true }, hostname: "db-0" };
  await c1.plane.admin.apply(serviceSlice("shop/db", [member]));
  await c1.export("shop/db");
  await Promise.all([c1, c2].map((cluster) => cluster.untilReady("shop/web", { [WEB]: "ready" })));
  for (const { plane } of [c1, c2]) servers.push(await CoreDns.start(plane));
  // The one of deploy/coredns/own has the same names throughout.
  servers.push(await CoreDns.startOwn(c2.plane));
  for (const dns of servers) for (const name of NAMES) await dns.untilAnswered(name, [DB]);
  user = new CommandLine({ c1: c1.plane.inlineKubeconfig() });
});
after(async () => {
  user?.[Symbol.dispose]();
  for (const dns of servers) await dns[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

test("deploy/coredns/own, by its rights: names of imports of both kinds, no others, and no other zone", async () => {
  const own = servers.at(-1);
  assert.ok(own);
  const [vip] = await (servers[1] ?? own).addressesOf("web.shop.svc.clusterset.local");
  assert.deepEqual(await own.addressesOf("web.shop.svc.clusterset.local"), [vip]);
  // ESERVFAIL until it has listed every kind that the plugin watches: it is not ready then.
  await own.untilUnknown("none.shop.svc.clusterset.local");
  assert.equal(await own.faultOf("web.shop.svc.cluster.local"), "EREFUSED");
});

/** Resolves both names each second, until something has come about. */
async function named(by: readonly CoreDns[], until: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = until.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  do {
    for (const dns of by)
      for (const name of NAMES) assert.deepEqual(await dns.addressesOf(name), [DB]);
    await sleep(1_000);
  } while (!isOver);
  await over;
}

/** Waits until a cluster's controller uses the import with a VIP in this way. */
const untilWeb = (cluster: StagedCluster, condition: "ready" | "serving") =>
  cluster.untilReady("shop/web", { [WEB]: condition });

test("a drain: in the drained cluster and in the other one, both names stay", async () => {
  assert.equal((await user.run("drain", "c1", "--for", "1h")).code, 0);
  await named(servers, Promise.all([c1, c2].map((cluster) => untilWeb(cluster, "serving"))));
  assert.equal((await user.run("undrain", "c1")).code, 0);
  await named(servers, Promise.all([c1, c2].map((cluster) => untilWeb(cluster, "ready"))));
});

test("the hub is away: both names stay, also after the Leases have expired, and after its return", async () => {
  await stage.hub.kill();
  await named(servers, untilWeb(c2, "serving"));
  await named(servers, sleep(10_000));
  await stage.hub.start();
  await named(servers, untilWeb(c2, "ready"));
});

test("two minutes without the API server of its cluster: in the other cluster, both names stay", async () => {
  const away = sleep(UPGRADE_MS);
  await c1.plane.kill();
  const elsewhere = servers.slice(1);
  await named(elsewhere, untilWeb(c2, "serving"));
  await named(elsewhere, away);
  await c1.plane.start();
  await named(elsewhere, untilWeb(c2, "ready"));
});
