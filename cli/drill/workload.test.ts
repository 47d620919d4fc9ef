import assert from "node:assert/strict";
import { test } from "node:test";
import { ANNOTATION_REPLICAS, workloadsOf } from "./workload.ts";

const service = { spec: { selector: { app: "web" } } };
const workload = (name: string, labels: object, replicas?: number, annotations = {}) => ({
  metadata: { namespace: "shop", name, annotations },
  spec: { ...(replicas !== undefined && { replicas }), template: { metadata: { labels } } },
});
const objects = {
  service,
  deployments: [
    workload("web", { app: "web", track: "stable" }, 3),
    workload("other", { app: "other" }, 1),
  ],
  statefulSets: [workload("web-db", { app: "web" })],
  autoscalers: [] as object[],
};
const web = {
  kind: "Deployment",
  namespace: "shop",
  name: "web",
  replicas: 3,
  isInterrupted: false,
};

test("what the Service selects is scaled, and gets the replicas that it has", () => {
  assert.deepEqual(workloadsOf(objects), [
    web,
    { ...web, kind: "StatefulSet", name: "web-db", replicas: 1 },
  ]);
});

test("after a drill that was interrupted, the replicas are those before it", () => {
  const left = workload("web", { app: "web" }, 0, { [ANNOTATION_REPLICAS]: "3" });
  assert.deepEqual(workloadsOf({ ...objects, deployments: [left], statefulSets: [] }), [
    { ...web, isInterrupted: true },
  ]);
});

test("an autoscaler of it, no workload, no selector, or no replica is a message", () => {
  const autoscaler = {
    metadata: { name: "scaler" },
    spec: { scaleTargetRef: { kind: "Deployment", name: "web" } },
  };
  assert.equal(
    workloadsOf({ ...objects, autoscalers: [autoscaler] }),
    "HorizontalPodAutoscaler scaler scales Deployment web, and would undo the drill",
  );
  const none = { ...objects, deployments: [], statefulSets: [] };
  assert.match(JSON.stringify(workloadsOf(none)), /no Deployment or StatefulSet/);
  assert.match(
    JSON.stringify(workloadsOf({ ...objects, service: { spec: {} } })),
    /selects no pods/,
  );
  const empty = { ...none, deployments: [workload("web", { app: "web" }, 0)] };
  assert.match(JSON.stringify(workloadsOf(empty)), /scaled to nothing already/);
});
