import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../common/clock.ts";
import { Credentials } from "../../common/kubernetes/credentials.ts";
import { HttpApiServer } from "../../common/kubernetes/http-api-server.ts";
import { LEASE_MS, LeaderElector, RENEW_MS } from "../../common/lease/leader-elector.ts";
import { logLines } from "../doubles/log-lines.ts";
import { Process } from "../lab/process.ts";
import { ControlPlane } from "./control-plane.ts";

const LEASE = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { namespace: "default", name: "leader" },
};
const PATIENCE_MS = 60_000;

let plane: ControlPlane;
before(async () => {
  plane = await ControlPlane.start();
});
after(() => plane.remove());

/** A replica in its own process, which prints its role whenever that changes. */
function replica(identity: string): Process {
  const fixture = `${import.meta.dirname}/fixtures/replica.ts`;
  const kubeconfig = plane.kubeconfig({ user: "admin" });
  return new Process([process.execPath, fixture, kubeconfig, identity]);
}

/** Waits until a process has printed a line after so many others. */
async function says(process: Process, line: string, after = 0): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!process.lines.slice(after).includes(line)) {
    if (performance.now() > end) {
      assert.fail(`never ${line}: ${process.lines.join(", ")}\n${process.errors}`);
    }
    await sleep(20);
  }
}

async function spec(): Promise<Record<string, unknown>> {
  return (await plane.admin.get(LEASE)).spec as Record<string, unknown>;
}

test("one of two replicas leads; a leader that was stopped is replaced, and a leader that ends releases the Lease", async () => {
  const first = replica("first");
  await says(first, "leader");
  assert.equal((await spec()).holderIdentity, "first");
  const second = replica("second");
  await says(second, "standby");
  await plane.admin.patch(LEASE, { metadata: { labels: { team: "net" } } });

  first.signal("SIGSTOP");
  const before = first.lines.length;
  await says(second, "leader");
  first.signal("SIGCONT");
  await says(first, "standby", before);
  // Its role after SIGCONT, before it had read the Lease.
  assert.deepEqual(first.lines.slice(before), ["not-renewed", "standby"]);
  const taken = await spec();
  assert.deepEqual([taken.holderIdentity, taken.leaseTransitions], ["second", 2]);
  assert.equal(taken.leaseDurationSeconds, 4);
  assert.match(String(taken.renewTime), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

  assert.deepEqual(await second.stop(), { code: 0, signal: null });
  await says(first, "leader", before);
  const { metadata } = await plane.admin.get(LEASE);
  assert.deepEqual(metadata.labels, { team: "net" });
  await first.stop();
  assert.equal((await spec()).holderIdentity ?? "", "");
});

test("during a restart of the API server the leader stays the same; during an outage no replica leads", async () => {
  const one = replica("one");
  await says(one, "leader");
  const lines = one.lines.length;
  await plane.kill();
  await says(one, "not-renewed", lines);
  await plane.start();
  await says(one, "leader", lines);
  await one.stop();
});

test("without the namespace of the Lease, no replica leads", async () => {
  const kubeconfig = plane.kubeconfig({ user: "admin" });
  const credentials = await Credentials.load({ kubeconfig, ...logLines(), clock: systemClock });
  const api = new HttpApiServer(credentials, "test", systemClock);
  const { promise, resolve } = Promise.withResolvers<string>();
  const elector = new LeaderElector({
    api,
    clock: systemClock,
    random: Math.random,
    today: () => new Date(),
    lease: { namespace: "nowhere", name: "leader" },
    identity: "me",
    duration: LEASE_MS,
    renewEvery: RENEW_MS,
    events: { state: () => {}, looked: () => {}, failed: ({ reason }) => resolve(reason) },
  });
  elector.start();
  assert.equal(await promise, "absent");
  assert.equal(elector.isLeader(), false);
  await elector.stop();
  await api.close();
});
