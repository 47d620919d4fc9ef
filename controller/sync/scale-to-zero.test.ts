import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forMany } from "../../test/generators/for-all.ts";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

// A list that lacks most objects is confirmed ten seconds later. Scaling to zero does not remove slices, so it
// applies at once, even during a relist.

/** `RUNS=1000` searches for rare failures. */
const RUNS = Number(process.env.RUNS ?? 6);
/** Milliseconds; less than the time to a second list. */
const AT_ONCE = 8000;

const NAMES = ["shop/web", "shop/api"] as const;

/** Numbers of endpoints per Service: none, one, and more than a slice holds. */
const scale = fc
  .tuple(fc.constantFrom(...NAMES), fc.constantFrom(0, 0, 1, 130))
  .map(([name, count]) => ({ what: "scale", name, count }) as const);
/** Breaks all connections to the API server of a cluster. */
const relist = fc.constantFrom("c1", "c2").map((cluster) => ({ what: "relist", cluster }) as const);
const pass = fc.constantFrom(0, 5, 100, 700).map((ms) => ({ what: "pass", ms }) as const);

function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `10.1.${i >> 7}.${i & 127}`);
}

test("scaling to zero and back is never handled as a mass loss, in any order with relists", async () => {
  const steps = fc.array(fc.oneof({ weight: 2, arbitrary: scale }, pass), { maxLength: 8 });
  const ends = fc.tuple(steps, relist, steps, relist, steps);
  const random = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }));
  await forMany(RUNS, [ends, random], async (parts, stream) => {
    const world = new ControllerWorld(["c1", "c2"], () => stream.next().value ?? 0);
    const [c1, c2] = world.clusters;
    for (const cluster of world.clusters) cluster.namespace("shop");
    const counts = new Map<string, number>(NAMES.map((name) => [name, 130]));
    for (const name of NAMES) {
      c1.offer(name, addresses(130));
    }
    await world.run(15_000);
    const wanted = () =>
      Object.fromEntries(
        NAMES.toSorted().map((name) => {
          const all = addresses(counts.get(name) ?? 0);
          return [name, ["vip", ...all.sort()].join(" ")];
        }),
      );
    assert.deepEqual(c2.imported(), wanted());
    for (const step of parts.flat()) {
      if (step.what === "pass") await world.pass(step.ms);
      else if (step.what === "relist") {
        const { server } = world.cluster(step.cluster);
        server.objects.compact();
        server.cut();
      } else {
        counts.set(step.name, step.count);
        c1.serve(step.name, addresses(step.count));
      }
    }
    await world.pass(AT_ONCE);
    for (const cluster of world.clusters) {
      assert.deepEqual(cluster.imported(), wanted(), cluster.log.slice(-20).join("\n"));
      assert.doesNotMatch(await cluster.metrics.text(), /reason="doubtful"} [1-9]/);
    }
  });
});
