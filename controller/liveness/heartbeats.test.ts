import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Heartbeats, SILENCE_SECONDS } from "./heartbeats.ts";

function listen() {
  const clock = new FakeClock();
  const told: string[] = [];
  const hearts = new Heartbeats({
    clock,
    turned: (name, { alive, renewed }) => {
      told.push(`${name} ${alive ? "alive" : "silent"}${renewed ? "" : " unrenewed"}`);
    },
  });
  return { clock, hearts, told };
}

/** Lets it beat once a second. */
function beatFor(world: ReturnType<typeof listen>, name: string, seconds: number): void {
  for (let i = 0; i < seconds; i++) {
    world.hearts.beat(name, `beat ${world.clock.now()}`, 10);
    world.clock.advance(1000);
  }
}

test("who beats is alive, whatever the text; who repeats himself is silent", () => {
  const world = listen();
  beatFor(world, "a", 60);
  assert.deepEqual(world.told, []);
  world.hearts.beat("a", "the same", 10);
  for (let i = 0; i < 9; i++) {
    world.clock.advance(1000);
    world.hearts.beat("a", "the same", 10);
  }
  assert.deepEqual(world.told, []);
  world.clock.advance(2000);
  assert.deepEqual(world.told, ["a silent"]);
  world.clock.advance(100_000);
  world.hearts.beat("a", "the same", 10);
  assert.deepEqual(world.told, ["a silent"]);
  world.hearts.beat("a", "another", 10);
  assert.deepEqual(world.told, ["a silent", "a alive"]);
});

test("who never changes is silent after the same time as who stops", () => {
  const { clock, hearts, told } = listen();
  hearts.beat("a", "once", 10);
  hearts.expect("b", 10);
  clock.advance(9000);
  assert.deepEqual(told, []);
  clock.advance(2000);
  assert.deepEqual(told, ["a silent unrenewed", "b silent unrenewed"]);
});

test("to be seen for the first time is not to be alive", () => {
  const { clock, hearts, told } = listen();
  hearts.expect("a", 10, false);
  hearts.beat("a", "left behind", 10);
  clock.advance(20_000);
  assert.deepEqual(hearts.pulse("a"), { alive: false, renewed: false });
  hearts.beat("a", "new", 10);
  assert.deepEqual(told, ["a alive"]);
});

test("if it was we who stood still, everybody has a whole duration again", () => {
  const world = listen();
  beatFor(world, "a", 9);
  world.clock.standStill(3_600_000);
  assert.deepEqual(world.told, []);
  world.clock.advance(9000);
  assert.deepEqual(world.told, []);
  world.clock.advance(2000);
  assert.deepEqual(world.told, ["a silent"]);
  world.clock.standStill(3_600_000);
  assert.deepEqual(world.told, ["a silent"], "to stand still brings nobody back");
});

test("what a duration may be is limited", () => {
  for (const [asked, is] of [
    [0, SILENCE_SECONDS.least],
    [Number.MAX_VALUE, SILENCE_SECONDS.most],
    [60, 60],
  ] as const) {
    const { clock, hearts, told } = listen();
    hearts.expect("a", asked);
    clock.advance(is * 1000 - 1);
    assert.deepEqual(told, []);
    clock.advance(1001);
    assert.equal(told.length, 1, String(asked));
  }
});

test("who is forgotten is told of no more, and nothing is waited for", () => {
  const { clock, hearts, told } = listen();
  hearts.expect("a", 10);
  hearts.forget("a");
  assert.equal(clock.pending, 0);
  clock.advance(60_000);
  assert.deepEqual(told, []);
  hearts.expect("b", 10);
  clock.advance(11_000);
  assert.deepEqual(told, ["b silent unrenewed"]);
  hearts.stop();
  assert.equal(clock.pending, 0);
});

test("in any order of events: silent after its time and no tick more, never before, and told in turns", () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 15_000 }) }),
    fc.record({ do: fc.constant("beat" as const), text: fc.constantFrom("x", "y", "z") }),
    fc.record({ do: fc.constant("still" as const), ms: fc.integer({ min: 3100, max: 60_000 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { clock, hearts, told } = listen();
      hearts.expect("a", 10);
      let changed = clock.now();
      let text: string | undefined;
      for (const one of steps) {
        if (one.do === "pass") clock.advance(one.ms);
        if (one.do === "still") {
          clock.standStill(one.ms);
          changed = clock.now();
        }
        if (one.do === "beat") {
          hearts.beat("a", one.text, 10);
          if (one.text !== text) changed = clock.now();
          text = one.text;
        }
        const silent = clock.now() - changed;
        if (silent >= 11_000) assert.equal(hearts.pulse("a")?.alive, false);
        if (told.at(-1)?.includes("silent") !== true) assert.equal(hearts.pulse("a")?.alive, true);
      }
      const words = told.map((line) => line.split(" ")[1]);
      assert.ok(words.every((word, i) => word === (i % 2 === 0 ? "silent" : "alive")));
    }),
  );
});
