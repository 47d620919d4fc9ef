import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { ApiRequest, ApiResponse, ApiServer } from "../../../common/kubernetes/api-server.ts";
import { Recovery } from "../../../common/kubernetes/recovery.ts";
import { FakeClock } from "../../../test/doubles/fake-clock.ts";
import { SourceRecorder } from "../../../test/doubles/source-recorder.ts";
import { ClusterNetworkSource } from "./cluster-network-source.ts";

const MINUTE = 60_000;

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

/** Lists what the test sets, or responds with the HTTP status of `faults`, by resource. */
class Server implements ApiServer {
  readonly address: string = "https://api.example:6443";
  readonly recovery = new Recovery();
  readonly faults = new Map<string, number>();
  readonly items: Record<string, object[]> = {
    servicecidrs: [
      {
        metadata: { name: "kubernetes", uid: "u", resourceVersion: "5" },
        spec: { cidrs: ["10.96.0.0/16", "fd00:96::/112"] },
      },
    ],
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
  asked: string[] = [];

  async request({ path }: ApiRequest): Promise<ApiResponse> {
    this.asked.push(path);
    const [, version = "", resource = ""] =
      /^\/apis?\/((?:[^/]+\/)?v1(?:beta1)?)\/(?:namespaces\/default\/)?(\w+)\?/.exec(path) ?? [];
    const status = this.faults.get(resource) ?? 200;
    const metadata = { resourceVersion: "7" };
    const list = { kind: "List", apiVersion: version, metadata, items: this.items[resource] };
    return {
      status,
      header: () => undefined,
      body: (async function* () {
        yield Buffer.from(status === 200 ? JSON.stringify(list) : "{}");
      })(),
    };
  }

  async close(): Promise<void> {}
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
  await source.stop();
});

test("preflight gets the listed Service ranges, first and after each change", async () => {
  const { api, source, pass } = stage();
  await pass(0);
  const followed: string[] = [];
  source.followServiceRanges((ranges) => followed.push(ranges.map(({ text }) => text).join()));
  await pass(15 * MINUTE);
  assert.deepEqual(followed, ["10.96.0.0/16,fd00:96::/112"]);
  const spec = { cidrs: ["10.43.0.0/16"] };
  api.items.servicecidrs = [{ metadata: { name: "k", uid: "v", resourceVersion: "6" }, spec }];
  await pass(15 * MINUTE);
  assert.deepEqual(followed.slice(1), ["10.43.0.0/16"]);
  api.faults.set("servicecidrs", 403);
  await pass(15 * MINUTE);
  assert.equal(followed.length, 2, "the last known ranges stay");
  await source.stop();
});

test("a resource that is forbidden or not served is left out, and logged once", async () => {
  const { api, told, logged, source, pass, clock } = stage();
  api.faults.set("servicecidrs", 404).set("nodes", 403);
  await pass(0);
  assert.deepEqual(told.news(), ["network", "listed"]);
  assert.deepEqual(told.network?.ranges, []);
  assert.ok(told.network?.addresses.has("203.0.113.6"));
  await pass(15 * MINUTE);
  assert.equal(logged.length, 2);
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
