import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { type Made, step } from "../../test/generators/steps.ts";
import { type Fate, HoldStage } from "../../test/stages/hold-stage.ts";
import { publishedAsReady } from "./mass-unreadiness.ts";
import { PATIENCE_MS, WINDOW_MS } from "./readiness-hold.ts";

/** Five endpoints of two Services, 1 to 3 and 4 to 5, all ready. */
function cluster(): HoldStage {
  const stage = new HoldStage();
  play(stage, "12345 ready");
  return stage;
}

/** 6 and 7 are those of a headless Service. */
function serviceOf(n: number): ObjectKey {
  return n === 4 || n === 5 ? "demo/b" : n === 6 || n === 7 ? "demo/db-headless" : "demo/a";
}

/**
 * What happens to these five, step by step: contact is lost or regained, time passes, endpoints have another state. After
 * `=`, what is published of each: **r**eady, **u**nready or **h**eld back; with the number that is counted as held back. Then
 * what is reported in the end.
 */
const HISTORIES: Readonly<Record<string, readonly [steps: string, ...reported: string[]]>> = {
  "after an outage, endpoints that are all unready are published as serving for 30 s": [
    "lost, 60000 ms, regained, 12345 unready, =hhhhh, 2001 ms, =hhhhh, 27998 ms, =hhhhh, 1 ms, =uuuuu",
    "held 4 of 5 in 2",
    "released 5 of 5 in 2",
  ],
  "an endpoint that is ready again is published at once": [
    "lost, regained, 12345 unready, 10000 ms, 12345 ready, =rrrrr, 30000 ms, =rrrrr",
    "held 4 of 5 in 2",
    "released 0 of 5 in 0",
  ],
  "an endpoint that becomes unready alone is unready at once, and serving for two seconds": [
    "lost, regained, 1 unready, =hrrrr, 1999 ms, =hrrrr, 1 ms, =urrrr",
  ],
  "endpoints are held back with the others, even after their own two seconds": [
    "lost, regained, 123 unready, 5000 ms, =uuurr, 4 unready, =hhhhr",
    "held 4 of 5 in 2",
  ],
  "the failure of one Service is published": [
    "45 gone, lost, regained, 123 unready, 2000 ms, =uuu",
  ],
  "the failure of half of the cluster is published": [
    "lost, regained, 124 unready, 2000 ms, =uurur",
  ],
  "endpoints that were unready before the outage, or are new, are not held back": [
    "1 unready, lost, 9 ready, regained, 123945 unready, =uhhuhh",
    "held 4 of 4 in 2",
  ],
  "an update before contact is regained opens a window that ends": [
    "lost, 3600000 ms, 12345 unready, =hhhhh, 30000 ms, =uuuuu",
    "held 4 of 5 in 2",
    "released 5 of 5 in 2",
  ],
  "if contact is still lost after a window, the endpoints that are ready at its end count": [
    "lost, 1 unready, 30000 ms, regained, 12345 unready, =uhhhh",
    "held 4 of 4 in 2",
  ],
  "a second outage within the window does not make unready endpoints count as normal": [
    "lost, regained, 12345 unready, 5000 ms, 1 ready, lost, 20000 ms, regained, 12345 unready, 20000 ms, =hhhhh, 10000 ms, =uuuuu",
    "held 4 of 5 in 2",
    "released 5 of 5 in 2",
  ],
  "a new leader has a window, and another one when contact is regained": [
    "lost, leader, 30000 ms, regained, 12345 unready, =hhhhh, 30000 ms, =uuuuu",
    "held 4 of 5 in 2",
    "released 5 of 5 in 2",
  ],
  "after all endpoints have recovered, a later failure is published": [
    "lost, regained, 12345 unready, 5000 ms, 12345 ready, 1 unready, 2000 ms, =urrrr, 12345 unready, =hhhhh",
    "held 4 of 5 in 2",
    "released 0 of 5 in 0",
    "held 4 of 5 in 2",
  ],
  "endpoints of a headless Service are held back for the window, and counted, also if it is the only one":
    ["12345 gone, 67 ready, lost, regained, 67 unready, 29999 ms, =hh 2, 1 ms, =uu 0"],
  "of a headless Service that loses one endpoint of two, the name of the other stays": [
    "12345 gone, 67 ready, lost, regained, 6 unready, 2000 ms, =ur",
  ],
};

const ACTS: Readonly<Record<string, (stage: HoldStage) => void>> = {
  lost: ({ hold }) => hold.lost(),
  regained: ({ hold }) => hold.regained(),
  leader: (stage) => stage.takeOver(),
};

function play(stage: HoldStage, text: string): void {
  const [what = "", word = ""] = text.split(" ");
  if (word === "ms") stage.clock.advance(Number(what));
  else if (text.startsWith("=")) {
    const letters = stage.words().map(([letter]) => letter);
    assert.equal(`=${letters.join("")}`, what);
    if (word !== "") assert.equal(stage.hold.heldBack, Number(word));
  } else if (word === "") ACTS[what]?.(stage);
  else for (const n of what) stage.set(serviceOf(Number(n)), `10.0.0.${n}`, word as Fate);
}

for (const [name, [steps, ...reported]] of Object.entries(HISTORIES)) {
  test(name, () => {
    const stage = cluster();
    for (const text of steps.split(", ")) play(stage, text);
    assert.deepEqual(stage.reported, reported);
  });
}

test("a controller that restarts within the window holds back the same endpoints", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.hold.regained();
  stage.setAll("unready");
  const before = publishedAsReady(stage.published());
  const next = new HoldStage();
  for (const n of [1, 2, 3, 4, 5]) next.set(serviceOf(n), `10.0.0.${n}`, "unready");
  next.hold.begin(before);
  assert.deepEqual(next.published(), stage.published());
  next.clock.advance(WINDOW_MS);
  assert.deepEqual(next.published(), next.truth());
});

test("a new leader also holds back endpoints of unpublished Services", () => {
  const stage = cluster();
  stage.hold.lost();
  const [published] = stage.published();
  assert.ok(published);
  stage.hold.begin(publishedAsReady([published]));
  stage.setAll("unready");
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "held"]);
});

const SERVICES: readonly ObjectKey[] = ["demo/a", "demo/b", "demo/c"];

const fate: fc.Arbitrary<Fate> = fc.constantFrom(
  "ready",
  "unready",
  "unready",
  "terminating",
  "gone",
);
const event = fc.oneof(
  step(6, "set", {
    service: fc.constantFrom(...SERVICES),
    address: fc.integer({ min: 1, max: 3 }).map((n) => `10.0.0.${n}`),
    fate,
  }),
  step(2, "all", { fate }),
  step(4, "pass", {
    ms: fc.oneof(fc.nat(100), fc.nat(PATIENCE_MS + 100), fc.nat(2 * WINDOW_MS)),
  }),
  step(1, "late", { ms: fc.nat(WINDOW_MS) }),
  ...[step(1, "lost"), step(2, "regained"), step(1, "takeOver")],
);

function happen(stage: HoldStage, one: Made<typeof event>): void {
  if (one.do === "set") stage.set(one.service, one.address, one.fate);
  if (one.do === "all") stage.setAll(one.fate);
  if (one.do === "pass") stage.clock.advance(one.ms);
  if (one.do === "late") stage.clock.standStill(one.ms);
  if (one.do === "lost") stage.hold.lost();
  if (one.do === "regained") stage.hold.regained();
  if (one.do === "takeOver") stage.takeOver();
}

/** A cluster with three ready endpoints in each Service. */
function nine(): HoldStage {
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
    const stage = nine();
    for (const one of history) {
      happen(stage, one);
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
    const stage = nine();
    for (const one of history) {
      happen(stage, one);
      assert.deepEqual(stage.seen(), stage.published());
    }
  }));

test("in any history the listed state is published at most 30 s after the last change of contact, takeover, or unreadiness without contact", () =>
  forAll([histories], (history) => {
    const stage = nine();
    for (const one of history) happen(stage, one);
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
      const stage = nine();
      for (const one of history) {
        happen(stage, one);
        assert.deepEqual(stage.published(), stage.truth());
      }
      assert.equal(stage.clock.pending, 0);
    },
  ));

test("four fifths of all endpoints, or all of two Services, that become unready within two seconds, in any order, are held back for the whole window", async () => {
  const addresses = SERVICES.flatMap((service) => [1, 2, 3].map((n) => ({ service, n })));
  await forAll(
    [
      fc.shuffledSubarray(addresses, { minLength: 1 }),
      fc.array(fc.nat(Math.floor(PATIENCE_MS / 9)), { minLength: 9, maxLength: 9 }),
    ],
    (drops, waits) => {
      const stage = nine();
      stage.hold.lost();
      stage.clock.advance(60_000);
      stage.hold.regained();
      for (const [i, { service, n }] of drops.entries()) {
        stage.set(service, `10.0.0.${n}`, "unready");
        assert.equal(stage.word(service, `10.0.0.${n}`), "held");
        stage.clock.advance(waits[i] ?? 0);
      }
      stage.clock.advance(WINDOW_MS - PATIENCE_MS - 1);
      const lost = SERVICES.filter((one) => drops.filter((d) => d.service === one).length === 3);
      const collective = drops.length >= 0.8 * addresses.length || lost.length >= 2;
      for (const { service, n } of drops) {
        const word = stage.word(service, `10.0.0.${n}`);
        assert.equal(word, collective ? "held" : "unready");
      }
    },
  );
});
