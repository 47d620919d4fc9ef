import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "../../test/apiserver/api-client.ts";
import { ControlPlane } from "../../test/apiserver/control-plane.ts";
import { now } from "../../test/connections/connections.ts";
import type { Namespace } from "../../test/lab/namespace.ts";
import { ENDPOINTS } from "../options.ts";
import { NAMESPACE } from "../shape.ts";
import { SliceWatch } from "./slice-watch.ts";

const APP = "web";
const NODE = "n1";
const REST = 60;

/**
 * How kube-controller-manager brings a pod's new address into the slice of its Service, within one cluster: one watch and
 * one write, as each of the two controllers on the way between clusters. Gives milliseconds from when the pod's status was
 * acknowledged until a watch was told of the slice.
 */
export async function kubeSlices(place: Namespace, times: number): Promise<number[]> {
  await using plane = await ControlPlane.start({ namespace: place, controllerManager: true });
  const { admin } = plane;
  await admin.createAll([
    { apiVersion: "v1", kind: "Node", metadata: { name: NODE } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
  ]);
  await admin.create({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: NAMESPACE, name: APP },
    spec: { selector: { app: APP }, ports: [{ name: "http", protocol: "TCP", port: 80 }] },
  });
  await using watch = new SliceWatch(
    plane.client("admin"),
    NAMESPACE,
    `kubernetes.io/service-name=${APP}`,
  );
  for (let n = 0; n < ENDPOINTS; n++) {
    await admin.create(podOf(n));
    await settle(admin, n, addressOf(n));
  }
  for (let n = 0; n < ENDPOINTS; n++) await watch.seen(addressOf(n));
  const took: number[] = [];
  for (let round = 0; round < times; round++) {
    await sleep(REST + Math.random() * 10);
    const address = addressOf(ENDPOINTS + round);
    await settle(admin, round % ENDPOINTS, address);
    const acknowledged = now();
    took.push(Math.max(0, (await watch.seen(address)) - acknowledged));
  }
  return took;
}

/** What a kubelet would say of a pod. */
async function settle(admin: ApiClient, n: number, ip: string): Promise<void> {
  const conditions = [{ type: "Ready", status: "True" }];
  const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions };
  await admin.patch(podOf(n), { status }, "status");
}

function podOf(n: number) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: NAMESPACE, name: `${APP}-${n}`, labels: { app: APP } },
    spec: { nodeName: NODE, containers: [{ name: APP, image: APP }] },
  };
}

function addressOf(n: number): string {
  return `10.9.${n >> 8}.${n & 255}`;
}
