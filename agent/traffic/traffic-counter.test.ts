import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { CodedError } from "../../common/errors.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { nodeFact } from "../../test/generators/facts.ts";
import type { NodeFact } from "../model/facts.ts";
import { TrafficCounter } from "./traffic-counter.ts";

/** A counter whose table fails as long as `fault` is set. */
class Stage {
  readonly clock = new FakeClock();
  fault: Error | undefined;
  node: NodeFact | undefined;
  installs = 0;
  /** `failed CODE`, `works`. */
  readonly events: string[] = [];
  readonly counter = new TrafficCounter({
    table: {
      install: async () => {
        this.installs++;
        if (this.fault) throw this.fault;
      },
      counts: async () => {
        if (this.fault) throw this.fault;
        return [{ family: "IPv4", member: "c2", connections: 7 }];
      },
    },
    node: () => this.node,
    clock: this.clock,
    random: () => 0,
    events: {
      unavailable: (error) =>
        this.events.push(error instanceof CodedError ? `failed ${error.code}` : "works"),
    },
  });

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      await turn();
      this.clock.advance(500);
      await turn();
    }
  }
}

test("rules are written once the node is known, and checked every five seconds", async () => {
  const stage = new Stage();
  stage.counter.start();
  await stage.pass(3_000);
  assert.equal(stage.installs, 0);
  stage.node = nodeFact({});
  await stage.pass(500);
  assert.equal(stage.installs, 1);
  await stage.pass(10_000);
  assert.equal(stage.installs, 3);
  await stage.counter.stop();
  await stage.pass(10_000);
  assert.equal(stage.installs, 3);
});

test("while the table cannot be written or read there are no counts, attempts become rarer, and the end is reported", async () => {
  const stage = new Stage();
  stage.node = nodeFact({});
  stage.fault = new CodedError("CSP_EXEC_FAILED", "no");
  stage.counter.start();
  await stage.pass(60_000);
  assert.deepEqual(await stage.counter.counts(), []);
  assert.ok(stage.installs <= 5, `${stage.installs} attempts in a minute`);
  assert.ok(stage.events.every((event) => event === "failed CSP_EXEC_FAILED"));
  stage.fault = undefined;
  await stage.pass(150_000);
  assert.equal(stage.events.at(-1), "works");
  assert.equal((await stage.counter.counts())[0]?.connections, 7);
  await stage.counter.stop();
});
