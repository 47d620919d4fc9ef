import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ApiFault } from "../../../common/kubernetes/api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer } from "../../../common/kubernetes/api-server.ts";
import { Recovery } from "../../../common/kubernetes/recovery.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { ServiceCidrs } from "./service-cidrs.ts";

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

describe("the Service ranges that an API server tells of", () => {
  let [server, clock] = [new Server(), new FakeClock()];
  let cidrs = new ServiceCidrs({ api: server, clock });
  beforeEach(() => {
    [server, clock] = [new Server(), new FakeClock()];
    cidrs = new ServiceCidrs({ api: server, clock });
  });
  afterEach(() => cidrs.stop());

  async function known(): Promise<string[]> {
    return (await cidrs.latest(new AbortController().signal)).map(({ text }) => text);
  }

  test("are known with the first answer", async () => {
    assert.deepEqual(await known(), LISTED);
  });

  test("are waited for for two seconds, not by who is in a hurry, and known once they come", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    server.answers = promise;
    const [waiting, hurried, hurry] = [known(), new AbortController(), new AbortController()];
    const stopped = cidrs.latest(hurry.signal);
    hurry.abort();
    assert.deepEqual(await stopped, []);
    hurried.abort();
    assert.deepEqual(await cidrs.latest(hurried.signal), []);
    clock.advance(2_000);
    assert.deepEqual(await waiting, []);
    resolve();
    await turn();
    assert.deepEqual(await known(), LISTED);
    assert.equal(server.asked.length, 1);
    assert.equal(clock.pending, 0);
  });

  test("are asked for once in 15 minutes, however often they are looked at", async () => {
    for (let i = 0; i < 14; i++) {
      await known();
      clock.advance(MINUTE);
    }
    assert.equal(server.asked.length, 1);
    clock.advance(MINUTE);
    server.cidrs = ["10.43.0.0/16"];
    assert.deepEqual(await known(), ["10.43.0.0/16"]);
    assert.equal(server.asked.length, 2);
  });

  test("of a cluster before 1.33 are those of v1beta1", async () => {
    server.served = ["v1beta1"];
    assert.deepEqual(await known(), LISTED);
    assert.equal(server.asked.length, 2);
  });

  test("are none where the cluster has no such objects", async () => {
    server.served = [];
    assert.deepEqual(await known(), []);
  });

  for (const fault of [403, 404, 401, 429, 500, "unreachable", "{nonsense", "[]"] as const) {
    test(`are unknown after ${fault}, asked for again in 5 minutes, and then stay known through the same`, async () => {
      server.fault = fault;
      assert.deepEqual(await known(), []);
      const asked = server.asked.length;
      clock.advance(4 * MINUTE);
      await known();
      assert.equal(server.asked.length, asked);
      clock.advance(MINUTE);
      server.fault = undefined;
      assert.deepEqual(await known(), LISTED);
      clock.advance(15 * MINUTE);
      server.fault = fault;
      assert.deepEqual(await known(), LISTED);
    });
  }

  test("that are no ranges are left out", async () => {
    for (const wrong of [
      ["10.96.0.1/12", 7, null, "x", "10.96.0.0/12"],
      "10.96.0.0/12",
      undefined,
    ]) {
      server.cidrs = wrong;
      clock.advance(15 * MINUTE);
      assert.deepEqual(await known(), Array.isArray(wrong) ? ["10.96.0.0/12"] : []);
    }
  });

  test("are not asked for any more once it is stopped", async () => {
    await cidrs.stop();
    assert.deepEqual(await known(), []);
    assert.deepEqual(server.asked, []);
  });
});
