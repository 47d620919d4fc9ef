import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../common/clock.ts";
import { Credentials } from "../../common/kubernetes/credentials.ts";
import { HttpApiServer } from "../../common/kubernetes/http-api-server.ts";
import { LeaderElector } from "../../common/lease/leader-elector.ts";
import { Process } from "../lab/process.ts";
import { logLines } from "../support/log-lines.ts";
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

/** A replica in a process of its own, which says what it is whenever that changes. */
function replica(identity: string): Process {
  const fixture = `${import.meta.dirname}/fixtures/replica.ts`;
  const kubeconfig = plane.kubeconfig({ user: "admin" });
  return new Process([process.execPath, fixture, kubeconfig, identity]);
}

/** Waits until a process has said a line after so many others. */
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

test("of two replicas one leads; one that was frozen finds another, and the one that ends gives the Lease back", async () => {
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
  // What it said of itself as it went on, before it had looked at the Lease.
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

test("through a restart of the API server the leader stays the leader; through an outage nobody leads", async () => {
  const one = replica("one");
  await says(one, "leader");
  const lines = one.lines.length;
  await plane.kill();
  await says(one, "not-renewed", lines);
  await plane.start();
  await says(one, "leader", lines);
  await one.stop();
});

test("where the namespace of the Lease does not exist, nobody leads", async () => {
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
    events: { state: () => {}, looked: () => {}, failed: ({ reason }) => resolve(reason) },
  });
  elector.start();
  assert.equal(await promise, "absent");
  assert.equal(elector.isLeader(), false);
  await elector.stop();
  await api.close();
});
