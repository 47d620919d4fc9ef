import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { logLines } from "../../test/doubles/log-lines.ts";
import { MemoryApiServer } from "../../test/doubles/memory/memory-api-server.ts";
import { Chance } from "../../test/generators/chance.ts";
import { LEASES } from "../lease/lease.ts";
import type { ApiRequest, ApiServer } from "./api-server.ts";
import { Recovery, type Wait } from "./recovery.ts";
import { Reflector } from "./reflector.ts";
import { ApiWriter } from "./writer.ts";

const RESOURCES = ["services", "endpointslices", "namespaces", "leases"] as const;

/** A process that follows some kinds of one API server, and what became of that. */
class Followers implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly server: MemoryApiServer;
  /** When each kind was asked for, but for its first time. */
  readonly asked = new Map<string, number[]>(RESOURCES.map((resource) => [resource, []]));
  /** How each kind is followed. */
  readonly states = new Map<string, string>();
  readonly api: ApiServer;
  readonly #reflectors: readonly Reflector[];

  private constructor(random: () => number) {
    this.server = new MemoryApiServer("one", this.clock, random);
    this.api = {
      address: "memory:one",
      recovery: new Recovery(),
      request: (request) => this.#request(request),
      close: async () => undefined,
    };
    this.#reflectors = RESOURCES.map(
      (resource) =>
        new Reflector({
          api: this.api,
          query: { group: "", versions: ["v1"], resource },
          clock: this.clock,
          random,
          ...logLines(),
          events: {
            changed: () => undefined,
            removed: () => undefined,
            listed: () => undefined,
            state: ({ reason }) => void this.states.set(resource, reason),
          },
        }),
    );
    for (const reflector of this.#reflectors) reflector.start();
  }

  /** All watch. */
  static async start(): Promise<Followers> {
    const chance = new Chance(1);
    const it = new Followers(() => chance.next());
    await it.pass(20_000);
    assert.equal(it.areWatching, true);
    return it;
  }

  /** The server is unreachable for so long. */
  async outage(ms: number): Promise<void> {
    this.server.down = true;
    this.server.cut();
    await this.pass(ms);
  }

  /** What each kind is asked for in this time, the most first. */
  async countsOf(pass: () => Promise<unknown>): Promise<number[]> {
    for (const times of this.asked.values()) times.splice(0);
    await pass();
    return [...this.asked.values()].map(({ length }) => length).sort((a, b) => b - a);
  }

  get areWatching(): boolean {
    return [...this.states.values()].every((state) => state === "watching");
  }

  /** Moves time on, timer by timer. */
  async pass(ms: number, until: () => boolean = () => false): Promise<number> {
    const began = this.clock.now();
    const settle = async () => {
      for (let turn = 0; turn < 4; turn++) await setImmediate();
    };
    await settle();
    while (!until() && this.clock.now() < began + ms) {
      this.clock.advance(Math.min(began + ms - this.clock.now(), this.clock.next ?? ms));
      await settle();
    }
    return this.clock.now() - began;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
    await this.pass(1000);
    await stopped;
  }

  #request(request: ApiRequest) {
    const [, resource = ""] = /\/v1\/(\w+)/.exec(request.path) ?? [];
    this.asked.get(resource)?.push(this.clock.now());
    return this.server.request(request);
  }
}

describe("an API server that was unreachable for minutes", () => {
  test("is watched again by all within 1.5 s after the first success, and within 10 s after its return", async () => {
    await using it = await Followers.start();
    for (let outage = 0; outage < 10; outage++) {
      await it.outage(120_000 + outage * 1700);
      it.server.down = false;
      const one = await it.pass(60_000, () => [...it.states.values()].includes("watching"));
      const rest = await it.pass(60_000, () => it.areWatching);
      assert.ok(one <= 10_100, `the first after ${one} ms`);
      assert.ok(rest <= 1500, `the others ${rest} ms later`);
      await it.pass(20_000);
    }
  });

  test("gets a request every ten seconds from one client, and from the others as rarely as before", async () => {
    await using it = await Followers.start();
    await it.outage(120_000);
    const counts = await it.countsOf(() => it.pass(600_000));
    const [scout = 0, ...others] = counts;
    assert.ok(scout >= 60 && scout <= 120, counts.join(" "));
    for (const count of others) assert.ok(count >= 20 && count <= 40, counts.join(" "));
  });

  test("is watched again within seconds after a successful write", async () => {
    await using it = await Followers.start();
    const { api, clock } = it;
    const writer = new ApiWriter({ api, clock, fieldManager: "test" });
    const look = async () => {
      await Promise.all([
        // Whether it is answered is the API server's affair: that it is asked is what counts.
        writer.get(LEASES, { namespace: "here", name: "leader" }).catch(() => undefined),
        it.pass(100),
      ]);
    };
    it.server.objects.apply("namespaces", "here", { metadata: { name: "here" } }, "test");
    const lease = { metadata: { namespace: "here", name: "leader" } };
    it.server.objects.apply("leases", "here/leader", lease, "test");
    await it.outage(120_000);
    await look();
    it.server.down = false;
    await look();
    const all = await it.pass(60_000, () => it.areWatching);
    assert.ok(all <= 1500, `${all} ms`);
  });
});

describe("an API server that responds, and immediately closes every connection", () => {
  test("receives fewer and fewer requests: a client whose watch was cut off does not wake others", async () => {
    await using it = await Followers.start();
    const cutEachSecond = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        it.server.cut();
        await it.pass(1000);
      }
    };
    await cutEachSecond(120);
    const counts = await it.countsOf(() => cutEachSecond(600));
    for (const count of counts) assert.ok(count <= 80, counts.join(" "));
    await it.pass(60_000);
    assert.equal(it.areWatching, true);
  });

  test("is watched again within seconds if it does so once, when it returns after minutes", async () => {
    await using it = await Followers.start();
    await it.outage(300_000);
    it.server.down = false;
    await it.pass(60_000, () => it.areWatching);
    it.server.cut();
    const all = await it.pass(60_000, () => it.areWatching);
    assert.ok(all <= 2000, `${all} ms`);
  });
});

describe("a client that waits after a failure", () => {
  /** Milliseconds that a wait lasts, if another who had failed is answered after `at`. */
  async function waited(wait: Wait, at: number, random = 0.5): Promise<number> {
    const clock = new FakeClock();
    const recovery = new Recovery();
    const other = {};
    recovery.failed(other);
    clock.after(at, () => recovery.succeeded(other));
    let end: number | undefined;
    const { signal } = new AbortController();
    void recovery.wait(wait, { clock, random: () => random, signal }).then(() => {
      end = clock.now();
    });
    while (end === undefined) {
      clock.advance(1);
      await Promise.resolve();
      await Promise.resolve();
    }
    assert.equal(clock.pending, at > end ? 1 : 0);
    return end - 1;
  }

  test("retries within a random part of a second after the success of another", async () => {
    assert.ok(Math.abs((await waited({ ms: 30_000, least: 800 }, 5000, 0)) - 5000) <= 2);
    assert.ok(Math.abs((await waited({ ms: 30_000, least: 800 }, 5000, 0.9)) - 5900) <= 2);
    assert.ok(Math.abs((await waited({ ms: 5200, least: 800 }, 5000, 0.9)) - 5200) <= 2);
  });

  test("does not retry before its minimum wait: a Retry-After is respected", async () => {
    assert.ok(Math.abs((await waited({ ms: 30_000, least: 20_000 }, 5000)) - 20_000) <= 2);
    assert.ok(Math.abs((await waited({ ms: 30_000, least: 30_000 }, 5000)) - 30_000) <= 2);
  });

  test("is not woken by clients whose requests keep succeeding", async () => {
    const clock = new FakeClock();
    const recovery = new Recovery();
    const stop = new AbortController();
    let over = false;
    const options = { clock, random: () => 0, signal: stop.signal };
    void recovery.wait({ ms: 30_000, least: 0 }, options).then(() => {
      over = true;
    });
    for (let second = 0; second < 29; second++) {
      recovery.succeeded(recovery);
      clock.advance(1000);
      await setImmediate();
    }
    assert.equal(over, false);
    stop.abort();
    await setImmediate();
    assert.equal(over, true);
    assert.equal(clock.pending, 0);
  });

  test("is the probe if it was the first to fail in an outage, until it succeeds or stops", () => {
    const recovery = new Recovery();
    const [first, second, third] = [{}, {}, {}];
    recovery.failed(third);
    assert.equal(recovery.failedAndWaits(first, "forbidden"), false);
    assert.equal(recovery.failedAndWaits(second, "unreachable"), true);
    assert.equal(recovery.failedAndWaits(first, "stalled"), false);
    assert.equal(recovery.failedAndWaits(second, "forbidden"), false);
    assert.equal(recovery.failedAndWaits(first, "server-error"), true);
    recovery.failedAndWaits(second, "unreachable");
    recovery.forget(first);
    assert.equal(recovery.failedAndWaits(second, "unreachable"), true);
  });
});
