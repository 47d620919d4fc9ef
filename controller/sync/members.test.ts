import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../test/doubles/memory/object-table.ts";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

/** The Lease of c1 in its registry. */
const LEASE = "clusterset-registry-c1/cluster";

test("changes of a peer with hundreds of them do not hold up those of another peer, or our own", async () => {
  const { world, c1, c2, c3 } = ControllerWorld.of(["c1", "c2", "c3"]);
  c2.offer("shop/web", ["10.2.0.7"]);
  await world.run(20_000);
  // A hostile peer writes to its registry what its controller would never write at once.
  c2.kill();
  const registry = "clusterset-registry-c2";
  const record = c2.server.objects.get("serviceimports", `${registry}/web.shop`) ?? {};
  const { annotations } = record.metadata as { annotations: object };
  for (let i = 0; i < 200; i++) {
    const metadata = { labels: { "clusterset-proxy.io/record": `flood-${i}.shop` }, annotations };
    c2.edit("serviceimports", `${registry}/flood-${i}.shop`, { ...record, metadata });
  }
  c3.offer("shop/calm", ["10.3.0.7"]);
  c1.offer("shop/ours", ["10.1.0.7"]);
  const has = (name: string) => c1.has("serviceimports", `shop/${name}`);
  while (!has("calm") || !has("ours")) await world.pass(1);
  const first = Array.from({ length: 200 }, (_, i) => `flood-${i}`).filter(has);
  assert.ok(first.length < 50, `${first.length} came first`);
  while (!has("flood-199")) await world.pass(10);
});

test("the Lease is renewed four times per duration even with slow answers, and sooner after a failure or a change, until the controller stops", async () => {
  const { world, c1 } = ControllerWorld.of(["c1"]);
  let isRejected = false;
  const times: number[] = [];
  c1.server.admitWrite = ({ key }) => {
    if (key !== LEASE) return;
    times.push(world.clock.now());
    if (isRejected) throw new Refusal(500, "etcdserver: request timed out");
  };
  const gaps = async (ms: number) => {
    const before = times.length;
    await world.pass(ms);
    return times.slice(before).map((time, i) => time - Number(times[before + i - 1]));
  };
  await world.run(20_000);
  c1.server.weather = { delay: 1000, lost: 0 };
  await gaps(15_000);
  const slow = await gaps(22_500);
  assert.deepEqual(slow, [7500, 7500, 7500]);
  isRejected = true;
  const [, ...failing] = await gaps(15_000);
  assert.ok(failing.length >= 3, failing.join());
  for (const gap of failing) assert.ok(gap >= 1875 && gap < 3500, failing.join());
  isRejected = false;
  await gaps(10_000);
  while ((await gaps(1)).length === 0);
  c1.annotate(world.drain(10));
  const [early = 0] = await gaps(5000);
  assert.ok(early > 0 && early < 5000, "a change during a renewal causes another one");
  await c1.stop();
  assert.deepEqual(await gaps(60_000), []);
});
