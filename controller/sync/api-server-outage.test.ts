import assert from "node:assert/strict";
import { test } from "node:test";
import { FINE } from "../../test/doubles/memory/memory-api-server.ts";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

const SERVICES: Readonly<Record<string, readonly string[]>> = {
  "shop/api": ["10.1.0.1", "10.1.0.2"],
  "shop/web": ["10.1.0.3"],
};

/** Two clusters; the first one exports both Services, and no readiness is held back any more. */
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

  /** The API server of the first cluster does not answer for `seconds`; its watches stay open without events. */
  async standsStill(ms: number): Promise<void> {
    this.c1.server.weather = { delay: 1e12, lost: 0 };
    await this.world.pass(ms);
    this.c1.server.weather = FINE;
  }

  /** Sets the state of all endpoints. */
  turn(state: "dead" | "ready"): void {
    for (const [key, addresses] of Object.entries(SERVICES)) {
      this.c1.serve(key, addresses, state === "dead" ? addresses : []);
    }
  }

  imported(): Record<string, string> {
    return this.c2.imported();
  }
}

/** The imports if all endpoints have this state. */
function all(state: "" | "(dead)" | "(serving)"): Record<string, string> {
  return Object.fromEntries(
    Object.entries(SERVICES).map(([key, addresses]) => [
      key,
      ["vip", ...addresses.map((address) => `${address}${state}`)].join(" "),
    ]),
  );
}

for (const seconds of [8, 20, 60]) {
  test(`after a pause of the API server of ${seconds} s, endpoints that it reports unready are serving until they are ready`, async () => {
    const it = await Outage.begin();
    await it.standsStill(seconds * 1000);
    it.turn("dead");
    await it.world.pass(10_000);
    assert.deepEqual(it.imported(), all("(serving)"));
    it.turn("ready");
    await it.world.pass(1000);
    assert.deepEqual(it.imported(), all(""));
  });
}

test("endpoints that another product adds for other clusters do not count as ready after a pause", async () => {
  const it = await Outage.begin();
  it.c1.apply({
    kind: "EndpointSlice",
    metadata: {
      namespace: "shop",
      name: "web-of-c9",
      labels: {
        "kubernetes.io/service-name": "web",
        "multicluster.kubernetes.io/source-cluster": "c9",
      },
    },
    addressType: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port: 80 }],
    endpoints: [1, 2, 3, 4].map((n) => ({
      addresses: [`10.9.0.${n}`],
      conditions: { ready: true },
    })),
  });
  await it.world.pass(1000);
  await it.standsStill(20_000);
  it.turn("dead");
  await it.world.pass(10_000);
  assert.deepEqual(it.imported(), all("(serving)"));
});

test("without an outage endpoints become unready at once", async () => {
  const it = await Outage.begin();
  it.turn("dead");
  await it.world.pass(1000);
  assert.deepEqual(it.imported(), all("(dead)"));
});

test("endpoints that stay unready after an outage are published unready after 30 s", async () => {
  const it = await Outage.begin();
  await it.standsStill(20_000);
  it.turn("dead");
  await it.world.pass(45_000);
  assert.deepEqual(it.imported(), all("(dead)"));
});
