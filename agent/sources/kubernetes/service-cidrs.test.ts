import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ApiFault } from "../../../common/kubernetes/api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer } from "../../../common/kubernetes/api-server.ts";
import { Recovery } from "../../../common/kubernetes/recovery.ts";
import { FakeClock } from "../../../test/doubles/fake-clock.ts";
import { serviceCidrs } from "./service-cidrs.ts";

const MINUTE = 60_000;
const LISTED = ["10.96.0.0/12", "fd00:10:96::/112"];

/** An API server that has ServiceCIDRs in these versions, unless it is told otherwise. */
class Server implements ApiServer {
  readonly address = "memory:";
  readonly recovery = new Recovery();
  readonly asked: string[] = [];
  served: readonly string[] = ["v1", "v1beta1"];
  cidrs: unknown = LISTED;
  /** What becomes of all requests: an HTTP status, a body, or no answer at all. */
  fault: number | string | undefined;

  /** Until when nothing is answered. */
  answers: Promise<void> = Promise.resolve();

  async request({ path }: ApiRequest): Promise<ApiResponse> {
    this.asked.push(path);
    await this.answers;
    const [, version = ""] = /^\/apis\/networking\.k8s\.io\/(\w+)\/servicecidrs\?/.exec(path) ?? [];
    if (this.fault === "unreachable") throw new ApiFault("unreachable", "Refused");
    if (typeof this.fault === "number") return answer(this.fault, "{}");
    if (!this.served.includes(version)) return answer(404, "404 page not found");
    const list = {
      kind: "ServiceCIDRList",
      apiVersion: `networking.k8s.io/${version}`,
      metadata: { resourceVersion: "7" },
      items: [
        {
          metadata: { name: "kubernetes", uid: "u", resourceVersion: "5" },
          spec: { cidrs: this.cidrs },
        },
      ],
    };
    return answer(200, this.fault ?? JSON.stringify(list));
  }

  async close(): Promise<void> {}
}

function answer(status: number, text: string): ApiResponse {
  return {
    status,
    header: () => undefined,
    body: (async function* () {
      yield Buffer.from(text);
    })(),
  };
}

describe("the Service ranges of an API server", () => {
  let [server, clock] = [new Server(), new FakeClock()];
  let cidrs = serviceCidrs(server, clock);
  /** The reported ranges, one text for each report. */
  let reported: string[] = [];
  beforeEach(() => {
    [server, clock] = [new Server(), new FakeClock()];
    cidrs = serviceCidrs(server, clock);
    reported = [];
  });
  afterEach(async () => {
    await cidrs.stop();
    assert.equal(clock.pending, 0);
  });

  async function pass(ms: number): Promise<void> {
    clock.advance(ms);
    for (let i = 0; i < 10; i++) await turn();
  }

  async function start(): Promise<void> {
    cidrs.start((ranges) => reported.push(ranges.map(({ text }) => text).join()));
    await pass(0);
  }

  function known(): string[] | undefined {
    return cidrs.latest?.map(({ text }) => text);
  }

  test("are known with the first response", async () => {
    await start();
    assert.deepEqual(known(), LISTED);
    assert.deepEqual(reported, [LISTED.join()]);
  });

  test("are requested once in 15 minutes, and reported only after a change", async () => {
    await start();
    await pass(14 * MINUTE);
    assert.equal(server.asked.length, 1);
    await pass(MINUTE);
    assert.equal(server.asked.length, 2);
    server.cidrs = ["10.43.0.0/16"];
    await pass(15 * MINUTE);
    assert.deepEqual(reported, [LISTED.join(), "10.43.0.0/16"]);
    assert.equal(server.asked.length, 3);
  });

  test("of a cluster before 1.33 are those of v1beta1", async () => {
    server.served = ["v1beta1"];
    await start();
    assert.deepEqual(known(), LISTED);
    assert.equal(server.asked.length, 2);
  });

  test("are unknown where the cluster has no such objects", async () => {
    server.served = [];
    await start();
    assert.equal(known(), undefined);
  });

  for (const fault of [403, 404, 401, 429, 500, "unreachable", "{nonsense", "[]"] as const) {
    test(`are unknown after ${fault}, requested again in 5 minutes, and then stay known after the same`, async () => {
      server.fault = fault;
      await start();
      assert.equal(known(), undefined);
      const asked = server.asked.length;
      await pass(4 * MINUTE);
      assert.equal(server.asked.length, asked);
      server.fault = undefined;
      await pass(MINUTE);
      assert.deepEqual(known(), LISTED);
      server.fault = fault;
      await pass(15 * MINUTE);
      assert.deepEqual(known(), LISTED);
    });
  }

  test("that are invalid are ignored", async () => {
    server.cidrs = ["10.96.0.1/12", 7, null, "x", "10.96.0.0/12"];
    await start();
    assert.deepEqual(known(), ["10.96.0.0/12"]);
    for (const wrong of ["10.96.0.0/12", undefined]) {
      server.cidrs = wrong;
      await pass(15 * MINUTE);
      assert.deepEqual(known(), []);
    }
  });

  test("are not requested or reported after stop", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    server.answers = promise;
    await start();
    const stopped = cidrs.stop();
    resolve();
    await stopped;
    await pass(15 * MINUTE);
    assert.equal(server.asked.length, 1);
    assert.deepEqual(reported, []);
  });
});
