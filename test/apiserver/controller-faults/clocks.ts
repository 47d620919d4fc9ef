import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { registryNamespace } from "../../../controller/registry/names.ts";
import { eventually } from "../../stages/agent-process.ts";
import { IMPORT, type StagedCluster } from "../staged-cluster.ts";
import { HOUR, type Pair } from "./pair.ts";

const KEY = "clock/web";
const ADDRESS: Readonly<Record<string, string>> = { c1: "10.1.250.1", c2: "10.2.250.1" };
/** Milliseconds for which clusters must have renewed their Leases: longer than a Lease is good for. */
const LONG_MS = 8000;
const PATIENCE_MS = 30_000;

/** When a cluster has renewed its Lease last, by its controller's clock, in milliseconds. */
async function renewed({ id, plane }: StagedCluster): Promise<number> {
  const metadata = { namespace: registryNamespace(id), name: "cluster" };
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
  const { spec } = await plane.admin.get(lease);
  return Date.parse(String((spec as { readonly renewTime?: unknown }).renewTime));
}

/** What clusters make of each other whose clocks are two hours apart. */
export function clockItems(pair: () => Pair): void {
  test("clusters with clocks an hour behind and an hour ahead are not stale while they renew their Leases, and the older export wins", async () => {
    const { c1, c2 } = pair();
    const began = await eventually(async () => {
      const times = [await renewed(c1), await renewed(c2)];
      const off = times.map((time) => Math.round((time - Date.now()) / (HOUR * 1000)));
      assert.deepEqual(off, [-1, 1]);
      return times;
    }, PATIENCE_MS);
    for (const cluster of [c1, c2]) await cluster.namespace("clock");
    await c2.serve(KEY, [ADDRESS.c2 ?? ""], { sessionAffinity: "ClientIP" });
    await c2.export(KEY);
    await sleep(1100); // Exports have whole seconds.
    await c1.serve(KEY, [ADDRESS.c1 ?? ""]);
    await c1.export(KEY);
    for (const cluster of [c1, c2]) {
      await cluster.untilCondition(KEY, "Conflict", "True SessionAffinityConflict");
      const found = await cluster.find(IMPORT, KEY);
      const spec = found?.spec as { readonly sessionAffinity?: string } | undefined;
      assert.equal(spec?.sessionAffinity, "ClientIP");
    }
    await eventually(async () => {
      for (const [i, cluster] of [c1, c2].entries()) {
        assert.ok((await renewed(cluster)) - (began[i] ?? 0) >= LONG_MS);
      }
    }, PATIENCE_MS);
    for (const cluster of [c1, c2]) {
      await cluster.untilReady(KEY, { [ADDRESS.c1 ?? ""]: "ready", [ADDRESS.c2 ?? ""]: "ready" });
    }
  });

  test("a cluster that does not renew its Lease is stale, whatever its clock, until the next renewal", async () => {
    const { c1, c2 } = pair();
    for (const [silent, judge] of [
      [c1, c2],
      [c2, c1],
    ] as const) {
      await silent.kill();
      await judge.untilReady(KEY, { [ADDRESS[silent.id] ?? ""]: "serving" });
      await pair().launch(silent);
      await judge.untilReady(KEY, { [ADDRESS[silent.id] ?? ""]: "ready" });
    }
  });
}
