import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ControllerWorld } from "../../test/stages/controller-world.ts";
import { LEASE_CHOICE, leaseTimes } from "../liveness/lease-times.ts";

/** The Lease of c1 in its registry. */
const CLUSTER_LEASE = "clusterset-registry-c1/cluster";
const numbers = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }));

test("after a leader is killed right before a renewal, another replica takes over before the cluster is stale, for any --lease-duration", async () => {
  const seconds = fc.oneof(
    fc.constantFrom(LEASE_CHOICE.least, 7, 30),
    fc.integer({ min: 6, max: 60 }),
  );
  await fc.assert(
    fc.asyncProperty(seconds, fc.nat(999), numbers, async (leaseSeconds, part, stream) => {
      const world = new ControllerWorld(["c1", "c2"], () => stream.next().value ?? 0);
      const [c1, c2] = world.clusters;
      world.leaseSeconds = leaseSeconds;
      for (const cluster of world.clusters) cluster.namespace("shop");
      c1.offer("shop/web", ["10.1.0.7"]);
      world.start();
      await world.pass(5000);
      c1.start();
      await world.pass(leaseSeconds * (1000 + part));
      const renewals = () => c1.server.writes.filter(({ key }) => key === CLUSTER_LEASE).length;
      for (const before = renewals(); renewals() === before; ) await world.pass(10);
      await world.pass(leaseTimes(leaseSeconds).renewEvery - 50);
      c1.kill();
      c1.serve("shop/web", ["10.1.0.8"]);
      await world.pass(leaseSeconds * 1000);
      assert.equal(c1.controller?.permission.isGranted, true);
      assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.8" });
      await world.pass(leaseSeconds * 500);
      const stale = c2.log.filter((line) => line.includes("Cluster is stale"));
      assert.deepEqual(stale, []);
    }),
    { numRuns: Number(process.env.RUNS ?? 5) },
  );
});

test("a leader with the shortest Lease can write even if answers take a second", async () => {
  const world = new ControllerWorld(["c1"]);
  const [c1] = world.clusters;
  world.leaseSeconds = LEASE_CHOICE.least;
  c1.namespace("shop");
  world.start();
  await world.pass(5000);
  c1.server.weather = { delay: 500, lost: 0 };
  await world.pass(20_000);
  c1.offer("shop/web", ["10.1.0.7"]);
  await world.pass(20_000);
  assert.deepEqual(c1.imported(), { "shop/web": "vip 10.1.0.7" });
});
