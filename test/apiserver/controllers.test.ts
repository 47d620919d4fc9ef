import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ControlPlane } from "./control-plane.ts";

let plane: ControlPlane;
before(async () => {
  plane = await ControlPlane.start({ controllerManager: true });
});
after(() => plane.remove());

const SLICES = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" };
const PATIENCE_MS = 20_000;

/** Asks until it is so. */
async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > end) assert.fail(`never: ${what}`);
    await sleep(50);
  }
}

/** A running pod of a namespace, as a kubelet reports it, and a Service that selects it. */
async function serve(namespace: string, address: string): Promise<void> {
  const { admin } = plane;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  // Pods of an unknown node are in no slice.
  await admin.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
  const labels = { app: "web" };
  const metadata = { namespace, name: "web" };
  const containers = [{ name: "web", image: "web" }];
  await admin.create({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, labels },
    spec: { containers, nodeName: "n1" },
  });
  const status = {
    phase: "Running",
    podIP: address,
    podIPs: [{ ip: address }],
    conditions: [{ type: "Ready", status: "True" }],
  };
  await admin.patch({ apiVersion: "v1", kind: "Pod", metadata }, { status }, "status");
  const spec = { selector: labels, ports: [{ port: 80 }] };
  await admin.create({ apiVersion: "v1", kind: "Service", metadata, spec });
}

/** The addresses of a namespace's slices. */
async function addresses(namespace: string): Promise<string> {
  const slices = await plane.admin.list({ ...SLICES, metadata: { namespace } });
  return JSON.stringify(slices.map(({ endpoints }) => endpoints));
}

test("a Service with a ready pod gets a slice, and the objects of a deleted namespace are deleted", async () => {
  await serve("shop", "10.1.0.7");
  await until("a slice", async () => (await addresses("shop")).includes("10.1.0.7"));
  const shop = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  await plane.admin.delete(shop);
  // Nobody ends the pod on its node.
  const path = "/api/v1/namespaces/shop/pods/web?gracePeriodSeconds=0";
  await plane.admin.request("DELETE", path);
  await until("the namespace is gone", async () => {
    const { status } = await plane.admin.request("GET", "/api/v1/namespaces/shop");
    return status === 404;
  });
});

test("the controllers stop, end and start with the API server", async () => {
  plane.freeze();
  const asked = plane.admin.request("GET", "/readyz", { timeout: PATIENCE_MS });
  assert.equal(await Promise.race([asked, sleep(300, "silence")]), "silence");
  plane.thaw();
  assert.equal((await asked).status, 200);
  await plane.kill();
  await plane.start();
  await serve("again", "10.1.0.8");
  await until("a slice", async () => (await addresses("again")).includes("10.1.0.8"));
  await plane.stop();
  await plane.start();
});
