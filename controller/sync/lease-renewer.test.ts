import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiRequest, ApiResponse } from "../../common/kubernetes/api-server.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { FactStore } from "../stores/fact-store.ts";
import { LeaseRenewer } from "./lease-renewer.ts";

/** A renewer, and an API server whose answers a test triggers. */
class Bench {
  readonly clock = new FakeClock();
  readonly requests: ApiRequest[] = [];
  /** Reason and count of each failure. */
  readonly failures: string[] = [];
  registered = 0;
  readonly renewer: LeaseRenewer;
  #answers: PromiseWithResolvers<ApiResponse>[] = [];

  constructor() {
    const { clock } = this;
    const request = (asked: ApiRequest): Promise<ApiResponse> => {
      this.requests.push(asked);
      const answer = Promise.withResolvers<ApiResponse>();
      this.#answers.push(answer);
      return answer.promise;
    };
    const api = {
      address: "memory:",
      recovery: new Recovery(),
      request,
      close: () => Promise.resolve(),
    };
    this.renewer = new LeaseRenewer({
      writing: { api, clock },
      clock,
      today: () => new Date(clock.now()),
      leaseSeconds: 30,
      member: {
        id: "c1",
        namespace: "clusterset-registry-c1",
        lease: undefined,
        leases: new FactStore({
          parse: () => ({ object: "", problems: [] }),
          changed: () => undefined,
          problems: () => undefined,
        }),
        registry: { informers: undefined },
      },
      uid: "u1",
      identity: () => ({ id: "c1" }),
      properties: () => ({}),
      drain: () => undefined,
      accepts: () => undefined,
      status: () => undefined,
      isComplete: () => true,
      makesNamespace: false,
      events: {
        registering: () => undefined,
        failed: (thrown, failures) => {
          assert.ok(thrown instanceof ApiFault);
          this.failures.push(`${thrown.reason} ${failures}`);
        },
        waiting: () => undefined,
        registered: () => void this.registered++,
      },
    });
  }

  /** Answers the first open request; with the Lease, unless it fails. */
  async answer(fault?: ApiFault): Promise<void> {
    await setImmediate();
    const answer = this.#answers.shift();
    assert.ok(answer, "nothing was asked");
    const metadata = {
      namespace: "clusterset-registry-c1",
      name: "cluster",
      uid: "lease",
      resourceVersion: String(this.requests.length),
    };
    if (fault === undefined) answer.resolve(response({ metadata }));
    else answer.reject(fault);
    await setImmediate();
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await setImmediate();
  }
}

function response(body: unknown): ApiResponse {
  const bytes = Buffer.from(JSON.stringify(body));
  return {
    status: 200,
    header: () => undefined,
    body: (async function* () {
      yield bytes;
    })(),
  };
}

const UNREACHABLE = () => new ApiFault("unreachable", "connection refused");

test("stop waits for a renewal in progress, and nothing is written afterwards", async () => {
  const it = new Bench();
  it.renewer.start();
  await it.pass(0);
  assert.equal(it.requests.length, 1);
  let isStopped = false;
  const stopped = it.renewer.stop().then(() => {
    isStopped = true;
  });
  await it.pass(1000);
  assert.equal(isStopped, false);
  await it.answer();
  await stopped;
  assert.equal(it.registered, 0, "who is stopped publishes nothing");
  await it.pass(60_000);
  assert.equal(it.requests.length, 1);
});

test("the Lease is renewed four times per duration even with slow answers, and sooner after a failure", async () => {
  const it = new Bench();
  it.renewer.start();
  await it.pass(0);
  await it.pass(3000);
  await it.answer();
  assert.equal(it.registered, 1);
  await it.pass(4499);
  assert.equal(it.requests.length, 1);
  await it.pass(1);
  assert.equal(it.requests.length, 2);
  for (const _ of [1, 2, 3]) {
    await it.answer(UNREACHABLE());
    const { length } = it.requests;
    await it.pass(1874);
    assert.equal(it.requests.length, length);
    await it.pass(1);
    assert.equal(it.requests.length, length + 1);
  }
  await it.answer();
  await it.pass(7500);
  await it.answer(UNREACHABLE());
  const counted = ["unreachable 1", "unreachable 2", "unreachable 3", "unreachable 1"];
  assert.deepEqual(it.failures, counted);
  await it.renewer.stop();
});

test("a change during a renewal causes another renewal", async () => {
  const it = new Bench();
  it.renewer.start();
  await it.pass(0);
  it.renewer.renewNow();
  await it.pass(10);
  assert.equal(it.requests.length, 1, "one after the other");
  await it.answer();
  await it.pass(10);
  assert.equal(it.requests.length, 2);
  await it.answer();
  await it.renewer.stop();
});
