import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { type Fate, HoldStage } from "../../test/stages/hold-stage.ts";
import { PATIENCE_MS, WINDOW_MS } from "./readiness-hold.ts";

const SERVICES: readonly ObjectKey[] = ["demo/a", "demo/b", "demo/c"];

const fate: fc.Arbitrary<Fate> = fc.constantFrom(
  "ready",
  "unready",
  "unready",
  "terminating",
  "gone",
);
const event = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("set" as const),
      service: fc.constantFrom(...SERVICES),
      address: fc.integer({ min: 1, max: 3 }).map((n) => `10.0.0.${n}`),
      fate,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("all" as const), fate }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      ms: fc.oneof(fc.nat(100), fc.nat(PATIENCE_MS + 100), fc.nat(2 * WINDOW_MS)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("late" as const), ms: fc.nat(WINDOW_MS) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("lost" as const, "regained" as const) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("takeOver" as const) }) },
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

function play(stage: HoldStage, one: Event): void {
  if (one.do === "set") stage.set(one.service, one.address, one.fate);
  if (one.do === "all") stage.setAll(one.fate);
  if (one.do === "pass") stage.clock.advance(one.ms);
  if (one.do === "late") stage.clock.standStill(one.ms);
  if (one.do === "lost") stage.hold.lost();
  if (one.do === "regained") stage.hold.regained();
  if (one.do === "takeOver") stage.takeOver();
}

/** A cluster with three ready endpoints in each Service. */
function cluster(): HoldStage {
  const stage = new HoldStage();
  for (const service of SERVICES) {
    for (const n of [1, 2, 3]) stage.set(service, `10.0.0.${n}`, "ready");
  }
  return stage;
}

const histories = fc.array(event, { maxLength: 60, size: "max" });

test("in any history only `serving` of listed unready endpoints differs from the listed state", async () => {
  let held = 0;
  await forAll([histories], (history) => {
    const stage = cluster();
    for (const one of history) {
      play(stage, one);
      for (const [i, slice] of stage.truth().entries()) {
        const published = stage.published()[i];
        for (const [k, endpoint] of slice.endpoints.entries()) {
          const shown = published?.endpoints[k];
          if (shown?.serving === endpoint.serving) assert.deepEqual(shown, endpoint);
          else {
            held++;
            assert.deepEqual(shown, { ...endpoint, serving: true });
            assert.deepEqual([endpoint.ready, endpoint.terminating], [false, false]);
          }
        }
      }
    }
  });
  assert.ok(held > 1000, `only ${held} were held back`);
});

test("in any history the reported changes are complete", () =>
  forAll([histories], (history) => {
    const stage = cluster();
    for (const one of history) {
      play(stage, one);
      assert.deepEqual(stage.seen(), stage.published());
    }
  }));

test("in any history the listed state is published at most 30 s after the last change of contact, takeover, or unreadiness without contact", () =>
  forAll([histories], (history) => {
    const stage = cluster();
    for (const one of history) play(stage, one);
    stage.clock.advance(WINDOW_MS);
    assert.deepEqual(stage.published(), stage.truth());
  }));

test("in any history without an outage or a takeover nothing is held back", () =>
  forAll(
    [
      histories.map((history) =>
        history.filter(({ do: did }) => did !== "lost" && did !== "takeOver"),
      ),
    ],
    (history) => {
      const stage = cluster();
      for (const one of history) {
        play(stage, one);
        assert.deepEqual(stage.published(), stage.truth());
      }
      assert.equal(stage.clock.pending, 0);
    },
  ));

test("four fifths of all endpoints that become unready within two seconds, in any order, are held back for the whole window", async () => {
  const addresses = SERVICES.flatMap((service) => [1, 2, 3].map((n) => ({ service, n })));
  await forAll(
    [
      fc.shuffledSubarray(addresses, { minLength: 1 }),
      fc.array(fc.nat(Math.floor(PATIENCE_MS / 9)), { minLength: 9, maxLength: 9 }),
    ],
    (drops, waits) => {
      const stage = cluster();
      stage.hold.lost();
      stage.clock.advance(60_000);
      stage.hold.regained();
      for (const [i, { service, n }] of drops.entries()) {
        stage.set(service, `10.0.0.${n}`, "unready");
        assert.equal(stage.word(service, `10.0.0.${n}`), "held");
        stage.clock.advance(waits[i] ?? 0);
      }
      stage.clock.advance(WINDOW_MS - PATIENCE_MS - 1);
      const collective = drops.length >= 0.8 * addresses.length;
      for (const { service, n } of drops) {
        const word = stage.word(service, `10.0.0.${n}`);
        assert.equal(word, collective ? "held" : "unready");
      }
    },
  );
});
