import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { ObjectKey } from "../../api/names.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { tcpService, udpService } from "../../test/doubles/fake-conntrack.ts";
import { UnlistedEndpoints } from "./unlisted-endpoints.ts";

const KEY = "demo/serve";
const A = "10.1.0.11";
const B = "10.1.0.12";

describe("resets of connections to endpoints that no slice lists", () => {
  let clock: FakeClock;
  let confirmed: ObjectKey[];
  let endpoints: UnlistedEndpoints;
  beforeEach(() => {
    clock = new FakeClock();
    confirmed = [];
    endpoints = new UnlistedEndpoints(clock, (key) => confirmed.push(key));
  });

  /** Endpoints whose connections are kept while slices list these; undefined: all. */
  const kept = (...listed: readonly string[]) => {
    const [service] = endpoints.confirm(KEY, [tcpService([A], listed)]);
    return service?.keeps?.map((one) => one.slice(0, one.indexOf(":"))).sort();
  };

  test("wait for a second after the first plan: slices may be on the move since before", () => {
    assert.equal(kept(A), undefined);
    clock.advance(999);
    assert.equal(kept(A), undefined);
    clock.advance(1);
    assert.deepEqual(confirmed, [KEY]);
    assert.deepEqual(kept(A), [A]);
  });

  test("wait until an endpoint has been missing for a second, however often the import is planned", () => {
    kept(A, B);
    clock.advance(1_000);
    assert.deepEqual(kept(A), [A, B]);
    clock.advance(600);
    assert.deepEqual(kept(A), [A, B]);
    assert.deepEqual(kept(), [A, B]);
    clock.advance(400);
    assert.deepEqual(kept(), [A], "missing for 0.4 s");
    clock.advance(600);
    assert.deepEqual(kept(), []);
    assert.deepEqual(confirmed, [KEY, KEY, KEY]);
  });

  test("do not happen if another slice lists the endpoint meanwhile", () => {
    kept(A, B);
    clock.advance(1_000);
    kept(A);
    clock.advance(500);
    assert.deepEqual(kept(A, B), [A, B]);
    clock.advance(200);
    assert.deepEqual(kept(A), [A, B], "missing again");
    clock.advance(300);
    assert.deepEqual(kept(A), [A, B], "a second after the first time");
    clock.advance(700);
    assert.deepEqual(kept(A), [A]);
  });

  test("start over when the import requests none for a while", () => {
    kept(A);
    clock.advance(1_000);
    endpoints.confirm(KEY, [tcpService([A])]);
    assert.equal(kept(A), undefined);
  });

  test("concern neither UDP nor imports without the annotation", () => {
    const services = [udpService([A], { keeps: [] }), tcpService([A])];
    assert.deepEqual(endpoints.confirm(KEY, services), services);
    clock.advance(2_000);
    assert.deepEqual(confirmed, []);
  });

  test("are not confirmed after a stop", () => {
    kept(A);
    endpoints.stop();
    clock.advance(2_000);
    assert.deepEqual(confirmed, []);
  });
});
