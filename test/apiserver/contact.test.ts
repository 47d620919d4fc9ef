import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../common/clock.ts";
import { connect } from "../../common/kubernetes/connect.ts";
import { Reflector } from "../../common/kubernetes/reflector.ts";
import {
  CONTROLLERS_LEASE,
  ControlPlaneContact,
} from "../../controller/liveness/control-plane-contact.ts";
import { logLines } from "../doubles/log-lines.ts";
import { ControlPlane } from "./control-plane.ts";

/** Renewed by the test, as kube-controller-manager's leader does it, and good for the least time there is. */
const LEASE = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: CONTROLLERS_LEASE };
const PATIENCE_MS = 60_000;

let plane: ControlPlane;
before(async () => {
  plane = await ControlPlane.start();
});
after(() => plane.remove());

async function until(what: string, isSo: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!isSo()) {
    if (performance.now() > end) assert.fail(`never: ${what}`);
    await sleep(50);
  }
}

test("contact with an API server that does not respond is lost while its watch reports nothing, and regained after its return", async (t) => {
  const told: string[] = [];
  const contact = new ControlPlaneContact(systemClock, {
    lost: (reason) => told.push(reason),
    regained: () => told.push("regained"),
  });
  const { log } = logLines();
  const api = await connect({ kubeconfig: plane.kubeconfig({ user: "admin" }), log });
  const states: string[] = [];
  let seen = 0;
  const reflector = new Reflector({
    api,
    query: {
      group: "coordination.k8s.io",
      versions: ["v1"],
      resource: "leases",
      namespace: CONTROLLERS_LEASE.namespace,
      fieldSelector: `metadata.name=${CONTROLLERS_LEASE.name}`,
    },
    events: {
      changed: (_key, lease) => {
        seen++;
        contact.controllers(lease);
      },
      removed: () => undefined,
      listed: () => undefined,
      state: (state) => {
        states.push(state.reason);
        contact.state("leases", state);
      },
    },
    clock: systemClock,
    random: Math.random,
    log,
  });
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    contact.stop();
    await reflector.stop();
    await api.close();
  });
  reflector.start();
  let renewals = 0;
  const renewing = (async () => {
    while (!stop.signal.aborted) {
      const digits = String(renewals++).padStart(6, "0");
      const renewTime = `2020-01-01T00:00:00.${digits}Z`;
      await plane.admin.apply({ ...LEASE, spec: { leaseDurationSeconds: 5, renewTime } });
      await sleep(500);
    }
  })();
  t.after(() => renewing);
  await until("renewals are seen", () => seen > 2);
  plane.freeze();
  await until("the loss is noticed", () => told.length > 0);
  assert.deepEqual([told, states.at(-1)], [["controllers-silent"], "watching"]);
  plane.thaw();
  await until("contact is regained", () => told.length > 1);
  assert.deepEqual(told, ["controllers-silent", "regained"]);
});
