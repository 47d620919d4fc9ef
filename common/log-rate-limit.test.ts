import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FakeClock } from "../test/doubles/fake-clock.ts";
import { LogRateLimit } from "./log-rate-limit.ts";

describe("shares of the log", () => {
  test("allow an object a hundred lines at once, then one a second, and count the others", () => {
    const clock = new FakeClock();
    const shares = new LogRateLimit(clock);
    const written = (lines: number) =>
      Array.from({ length: lines }, () => shares.ration("demo/a")).filter(({ write }) => write);
    assert.equal(written(180).length, 100);
    clock.advance(6_000);
    const [first, ...rest] = written(100);
    assert.equal(first?.leftOut, 80);
    assert.deepEqual(
      rest.map(({ leftOut }) => leftOut),
      [0, 0, 0, 0, 0],
    );
  });

  test("are separate for each object, and forgotten once they are full again", () => {
    const clock = new FakeClock();
    const shares = new LogRateLimit(clock);
    for (let i = 0; i < 130; i++) shares.ration("demo/a");
    assert.ok(shares.ration("demo/b").write);
    clock.advance(50_000);
    shares.ration("demo/b");
    assert.equal(shares.size, 2);
    clock.advance(50_000);
    shares.ration("demo/c");
    assert.equal(shares.size, 2, "b has had a line since");
  });
});
