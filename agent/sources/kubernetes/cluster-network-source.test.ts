import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ApiFault } from "../../../common/kubernetes/api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer } from "../../../common/kubernetes/api-server.ts";
import { Recovery } from "../../../common/kubernetes/recovery.ts";
import { FakeClock } from "../../../test/doubles/fake-clock.ts";
import { SourceRecorder } from "../../../test/doubles/source-recorder.ts";
import { ClusterNetworkSource } from "./cluster-network-source.ts";
import { serviceCidrs } from "./service-cidrs.ts";

const MINUTE = 60_000;
const LISTED = ["10.96.0.0/16", "fd00:96::/112"];

const node = (name: string, address: string, podCIDRs: readonly string[]) => ({
  metadata: { name, uid: name, resourceVersion: "5" },
  spec: { podCIDRs },
  status: {
    addresses: [
      { type: "InternalIP", address },
      { type: "Hostname", address: name },
    ],
  },
});

/** Lists what the test sets; ServiceCIDRs in these versions. */
class Server implements ApiServer {
  readonly address: string = "https://api.example:6443";
  readonly recovery = new Recovery();
  readonly asked: string[] = [];
  served: readonly string[] = ["v1", "v1beta1"];
  /** What becomes of all requests, by resource: an HTTP status, a body, or `unreachable`. */
  readonly faults = new Map<string, number | string>();
  /** Until when nothing is answered. */
  answers: Promise<void> = Promise.resolve();
  readonly items: Record<string, object[]> = {
    nodes: [
      node("n1", "172.20.1.11", ["10.1.0.0/24"]),
      node("n2", "172.20.1.12", ["10.1.1.0/24", "fd00:10:1:1::/64"]),
    ],
    endpointslices: [
      {
        metadata: { namespace: "default", name: "kubernetes", uid: "e", resourceVersion: "5" },
        endpoints: [{ addresses: ["203.0.113.6"] }, { addresses: ["203.0.113.7"] }],
      },
    ],
  };

  constructor() {
    this.serve(LISTED);
  }

  /** Has one ServiceCIDR, with these ranges. */
  serve(cidrs: unknown): void {
    const metadata = { name: "kubernetes", uid: "u", resourceVersion: "5" };
    this.items.servicecidrs = [{ metadata, spec: { cidrs } }];
  }

  async request({ path }: ApiRequest): Promise<ApiResponse> {
    this.asked.push(path);
    await this.answers;
    const [, apiVersion = "", version = "", resource = ""] =
      /^\/apis?\/((?:[^/]+\/)?(v1(?:beta1)?))\/(?:namespaces\/default\/)?(\w+)\?/.exec(path) ?? [];
    const fault = this.faults.get(resource);
    if (fault === "unreachable") throw new ApiFault("unreachable", "Refused");
    if (typeof fault === "number") return answer(fault, "{}");
    if (resource === "servicecidrs" && !this.served.includes(version))
      return answer(404, "404 page not found");
    const metadata = { resourceVersion: "7" };
    const list = { kind: "List", apiVersion, metadata, items: this.items[resource] };
    return answer(200, fault ?? JSON.stringify(list));
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

function stage(resolved = ["203.0.113.5", "FD00:0::5"]) {
  const api = new Server();
  const clock = new FakeClock();
  const told = new SourceRecorder();
  const logged: string[] = [];
  const log = {
    warn: (text: string) => logged.push(text),
    info: (text: string) => logged.push(text),
  };
  const resolve = async () => {
    if (resolved.length === 0) throw new Error("ENOTFOUND");
    return resolved;
  };
  const source = new ClusterNetworkSource({ api, clock, log, resolve });
  const pass = async (ms: number) => {
    clock.advance(ms);
    for (let i = 0; i < 50; i++) await turn();
  };
  // The first request is sent only after the test has set its faults.
  setImmediate(() => source.start(told));
  return { api, told, logged, source, pass, clock };
}

const ADDRESSES = [
  ...["172.20.1.11", "172.20.1.12"],
  ...["203.0.113.6", "203.0.113.7"],
  ...["203.0.113.5", "fd00::5"],
];
const RANGES = ["10.96.0.0/16", "fd00:96::/112", "10.1.0.0/24", "10.1.1.0/24", "fd00:10:1:1::/64"];

test("reports Service ranges, all Nodes and the API servers, then listed; and again only after a change", async () => {
  const { api, told, source, pass } = stage();
  await pass(0);
  assert.deepEqual(told.news(), ["network", "listed"]);
  assert.deepEqual([...(told.network?.addresses ?? [])], ADDRESSES);
  assert.deepEqual(
    told.network?.ranges.map(({ text }) => text),
    RANGES,
  );
  await pass(15 * MINUTE);
  assert.deepEqual(told.news(), []);
  api.items.nodes?.push(node("n3", "172.20.1.13", []));
  await pass(15 * MINUTE);
  assert.deepEqual(told.news(), ["network"]);
  assert.ok(told.network?.addresses.has("172.20.1.13"));
  await source.stop();
});

test("is not listed until all could be read; a later failure keeps the last state", async () => {
  const { api, told, logged, source, pass } = stage();
  api.faults.set("nodes", 500);
  await pass(0);
  await pass(20_000);
  assert.deepEqual(told.news(), []);
  assert.equal(logged.length, 1);
  api.faults.clear();
  await pass(5_000);
  assert.deepEqual(told.news(), ["network", "listed"]);
  api.faults.set("endpointslices", 503);
  await pass(15 * MINUTE);
  assert.deepEqual(told.news(), []);
  assert.equal(logged.length, 3);
  api.faults.clear();
  api.faults.set("nodes", 500);
  await pass(MINUTE);
  assert.equal(logged.length, 4, "another cause");
  await source.stop();
});

test("preflight gets the listed Service ranges, first and after each change", async () => {
  const { api, source, pass } = stage();
  await pass(0);
  const followed: string[] = [];
  source.followServiceRanges((ranges) => followed.push(ranges.map(({ text }) => text).join()));
  await pass(15 * MINUTE);
  assert.deepEqual(followed, ["10.96.0.0/16,fd00:96::/112"]);
  api.serve(["10.43.0.0/16"]);
  await pass(15 * MINUTE);
  assert.deepEqual(followed.slice(1), ["10.43.0.0/16"]);
  api.faults.set("servicecidrs", 403);
  await pass(15 * MINUTE);
  assert.equal(followed.length, 2, "the last known ranges stay");
  await source.stop();
});

test("a resource that is forbidden or not served is left out, and logged once each time", async () => {
  const { api, told, logged, source, pass, clock } = stage();
  api.faults.set("servicecidrs", 404).set("nodes", 403);
  await pass(0);
  assert.deepEqual(told.news(), ["network", "listed"]);
  assert.deepEqual(told.network?.ranges, []);
  assert.ok(told.network?.addresses.has("203.0.113.6"));
  await pass(15 * MINUTE);
  assert.equal(logged.length, 2);
  api.faults.clear();
  await pass(15 * MINUTE);
  assert.equal(told.network?.ranges.length, 5);
  api.faults.set("nodes", 403);
  await pass(15 * MINUTE);
  assert.equal(logged.length, 3);
  await source.stop();
  assert.equal(clock.pending, 0);
});

test("a name that cannot be resolved, as behind a proxy, is left out, and logged once", async () => {
  const { told, logged, source, pass } = stage([]);
  await pass(0);
  assert.deepEqual(told.news(), ["network", "listed"]);
  await pass(15 * MINUTE);
  assert.equal(logged.length, 1);
  await source.stop();
});

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

  test("are requested once in 15 minutes, and reported only after a change", async () => {
    await start();
    await pass(14 * MINUTE);
    assert.equal(server.asked.length, 1);
    await pass(MINUTE);
    assert.equal(server.asked.length, 2);
    server.serve(["10.43.0.0/16"]);
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

  for (const fault of [403, 404, 401, 429, 500, "unreachable", "{nonsense", "[]"] as const) {
    test(`are unknown after ${fault}, requested again in 5 minutes, and then stay known after the same`, async () => {
      server.faults.set("servicecidrs", fault);
      await start();
      assert.equal(known(), undefined);
      const asked = server.asked.length;
      await pass(4 * MINUTE);
      assert.equal(server.asked.length, asked);
      server.faults.clear();
      await pass(MINUTE);
      assert.deepEqual(known(), LISTED);
      server.faults.set("servicecidrs", fault);
      await pass(15 * MINUTE);
      assert.deepEqual(known(), LISTED);
    });
  }

  test("that are invalid are ignored", async () => {
    server.serve(["10.96.0.1/12", 7, null, "x", "10.96.0.0/12"]);
    await start();
    assert.deepEqual(known(), ["10.96.0.0/12"]);
    for (const wrong of ["10.96.0.0/12", undefined]) {
      server.serve(wrong);
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
