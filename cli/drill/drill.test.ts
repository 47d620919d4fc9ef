import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { scaleAllBack } from "./drill.ts";
import type { DrilledWorkload } from "./workload.ts";

test("a workload that cannot be scaled back is named, and the others get their replicas", async () => {
  const patches: unknown[] = [];
  const objects = {
    get: async (_resource: unknown, name: object) => ({
      object: { metadata: { ...name, uid: "u", resourceVersion: "1" }, spec: { replicas: 0 } },
    }),
    patch: async (_resource: unknown, { name }: { name: string }, patch: { spec: unknown }) => {
      if (name === "a") throw new ApiFault("unauthorized", "token expired");
      patches.push([name, patch.spec]);
    },
  };
  const on = { context: "c1", objects } as unknown as Cluster;
  const workload = (name: string): DrilledWorkload => ({
    ...{ kind: "Deployment", namespace: "shop", name, replicas: 3, isInterrupted: false },
  });
  const said: string[] = [];
  await assert.rejects(
    scaleAllBack(on, [workload("a"), workload("b")], (text) => void said.push(text)),
    /token expired/,
  );
  assert.deepEqual(patches, [["b", { replicas: 3 }]]);
  assert.deepEqual(said, [
    "Deployment shop/a may still have no pods: repeat the drill, or scale it to 3",
  ]);
});
