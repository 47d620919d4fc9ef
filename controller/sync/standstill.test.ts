import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerWorld } from "../../test/support/controller-world.ts";
import { FINE } from "../../test/support/memory/memory-api-server.ts";

const SERVICES: Readonly<Record<string, readonly string[]>> = {
  "shop/api": ["10.1.0.1", "10.1.0.2"],
  "shop/web": ["10.1.0.3"],
};

/** Two clusters; the first one exports both Services, and nothing of it is doubted any more. */
class Outage {
  readonly world = new ControllerWorld(["c1", "c2"]);
  readonly c1 = this.world.cluster("c1");
  readonly c2 = this.world.cluster("c2");

  static async begin(): Promise<Outage> {
    const it = new Outage();
    for (const cluster of it.world.clusters) cluster.namespace("shop");
    for (const [key, addresses] of Object.entries(SERVICES)) {
      it.c1.serve(key, addresses);
      it.c1.export(key);
    }
    it.world.start();
    await it.world.pass(60_000);
    assert.deepEqual(it.imported(), all(""));
    return it;
  }

  /** The API server of the first cluster answers nothing for so long; its watches stay open, and say nothing. */
  async standsStill(ms: number): Promise<void> {
    this.c1.server.weather = { delay: 1e12, lost: 0 };
    await this.world.pass(ms);
    this.c1.server.weather = FINE;
  }

  /** So are the endpoints from now on. */
  turn(state: "dead" | "ready"): void {
    for (const [key, addresses] of Object.entries(SERVICES)) {
      this.c1.serve(key, addresses, state === "dead" ? addresses : []);
    }
  }

  imported(): Record<string, string> {
    return this.c2.imported();
  }
}

/** What is imported if all endpoints are so. */
function all(state: "" | "(dead)" | "(serving)"): Record<string, string> {
  return Object.fromEntries(
    Object.entries(SERVICES).map(([key, addresses]) => [
      key,
      ["vip", ...addresses.map((address) => `${address}${state}`)].join(" "),
    ]),
  );
}

for (const seconds of [8, 20, 60]) {
  test(`an API server that stands still for ${seconds} s, and then calls all endpoints unready: they serve until they are ready`, async () => {
    const it = await Outage.begin();
    await it.standsStill(seconds * 1000);
    it.turn("dead");
    await it.world.pass(10_000);
    assert.deepEqual(it.imported(), all("(serving)"));
    it.turn("ready");
    await it.world.pass(1000);
    assert.deepEqual(it.imported(), all(""));
    await it.world.stop();
  });
}

test("all endpoints that turn unready are so at once, if their API server has answered all the time", async () => {
  const it = await Outage.begin();
  it.turn("dead");
  await it.world.pass(1000);
  assert.deepEqual(it.imported(), all("(dead)"));
  await it.world.stop();
});

test("endpoints that stay unready after an outage are believed when 30 s are over", async () => {
  const it = await Outage.begin();
  await it.standsStill(20_000);
  it.turn("dead");
  await it.world.pass(45_000);
  assert.deepEqual(it.imported(), all("(dead)"));
  await it.world.stop();
});
