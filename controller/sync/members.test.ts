import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiRequest, ApiResponse } from "../../common/kubernetes/api-server.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { logLines } from "../../test/doubles/log-lines.ts";
import { exportRecord } from "../../test/generators/export-records.ts";
import { UNLIMITED } from "../model/peer-scope.ts";
import { ControllerMetrics } from "../observe/metrics.ts";
import { Observer } from "../observe/observer.ts";
import { encodeRecord } from "../registry/encode.ts";
import { recordName, registryNamespace } from "../registry/names.ts";
import { FactStore } from "../stores/fact-store.ts";
import type { Follow } from "../stores/informer.ts";
import { LeaseRenewer } from "./lease-renewer.ts";
import { Members } from "./members.ts";
import { ReconcileQueue } from "./reconcile-queue.ts";

/** Two peers and the local cluster, connected to a work queue; their objects are those that the test puts. */
async function start() {
  const clock = new FakeClock();
  const { log } = logLines();
  const events = new Observer(log, new ControllerMetrics());
  const queue = new ReconcileQueue({ clock, events, random: () => 0 } as never);
  const order: string[] = [];
  const reconcilers = {
    due: () => undefined,
    failover: { concerns: () => false, names: () => [] },
    properties: { names: () => [] },
    taints: { names: () => [] },
    exported: () => [],
    exports: () => [],
    imported: () => [],
    importedFrom: () => [],
    reconcile: async (kind: string, key: string) => {
      order.push(`${kind} ${key}`);
      await setImmediate();
    },
  };
  queue.begin(reconcilers as never);
  const members = new Members({
    today: () => new Date(0),
    windows: { drainWindow: 0, returnWindow: 0 },
    drains: () => [],
    recorded: () => undefined,
    isLeader: () => true,
    clock,
    clusterSetCidrs: [],
    maxRules: 1000,
    dirty: queue.dirty,
    synced: (cluster) => queue.importAll(cluster),
    turned: (cluster) => queue.importFrom(cluster),
    connection: () => undefined,
    accepted: () => undefined,
    events,
  });
  members.identify({ identity: { id: "c1" }, uid: "u1", description: { properties: {} } });
  const sinks = new Map<string, Parameters<Follow>[1]>();
  for (const id of ["c1", "c2", "c3"]) {
    const namespace = registryNamespace(id);
    const member = members.add({ id, namespace, isOurs: id === "c1" });
    await member.connect((query, to) => {
      sinks.set(`${id} ${query.resource}`, to);
      return {
        start: () => to.listed(),
        stop: () => Promise.resolve(),
        again: () => undefined,
        wrote: () => undefined,
        found: () => undefined,
        erased: () => undefined,
        rewound: () => undefined,
      };
    }, UNLIMITED);
  }
  const put = (cluster: string, name: string): void => {
    const record = exportRecord({ cluster, key: `shop/${name}` });
    const namespace = registryNamespace(cluster);
    const key = `${namespace}/${recordName(`shop/${name}`)}`;
    sinks.get(`${cluster} serviceimports`)?.changed(key, encodeRecord(record, namespace), 0);
  };
  const settle = async (): Promise<void> => {
    while (queue.tasks.depth + queue.tasks.working > 0) await setImmediate();
  };
  return { clock, members, order, put, settle };
}

test("changes of a peer with thousands of them do not hold up those of another peer, or our own", async () => {
  const { order, put, settle, members } = await start();
  await settle();
  order.length = 0;
  for (let i = 0; i < 5000; i++) put("c2", `flood-${i}`);
  put("c3", "calm");
  put("c1", "ours");
  await settle();
  assert.ok(order.indexOf("import shop/calm") < 20, `${order.indexOf("import shop/calm")}`);
  assert.ok(order.indexOf("import shop/ours") < 20, `${order.indexOf("import shop/ours")}`);
  assert.ok(order.includes("import shop/flood-4999"));
  await members.stop();
});

test("a member without renewals is stale, but not after a pause of this process", async () => {
  const { clock, members } = await start();
  clock.standStill(3_600_000);
  assert.equal(members.state("c2")?.lease.status.state, "alive");
  clock.advance(60_000);
  assert.equal(members.state("c2")?.lease.status.state, "stale");
  await members.stop();
  assert.equal(clock.pending, 0);
});

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
