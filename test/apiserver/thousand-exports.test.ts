import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../stages/agent-process.ts";
import type { ApiObject } from "./api-client.ts";
import { ControllerStage, IMPORT, SLICE, type StagedCluster } from "./controller-stage.ts";

// Two clusters that export many Services each, half of them by names that both have.

/** Exports of each cluster. `EXPORTS=1000` is the requirement; the default is smaller, to save time. */
const EXPORTS = Number(process.env.EXPORTS ?? 100);
const NAMESPACE = "mass";
/** For so many writes at once, by two controllers and a test that share the processors. */
const PATIENCE_MS = 240_000;

let stage: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
before(async () => {
  stage = await ControllerStage.open({ clusters: ["c1", "c2"] });
  [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  await stage.start();
});
after(() => stage[Symbol.asyncDispose]());

/** Names that a cluster exports. */
function namesOf({ id }: StagedCluster): string[] {
  const first = id === "c1" ? 0 : EXPORTS / 2;
  return Array.from({ length: EXPORTS }, (_, i) => `s-${first + i}`);
}

/** Exports all, 16 at a time. */
async function exportAll(cluster: StagedCluster): Promise<void> {
  const names = namesOf(cluster).entries();
  const worker = async () => {
    for (const [i, name] of names) {
      await cluster.serve(`${NAMESPACE}/${name}`, [addressOf(cluster, i)]);
      await cluster.export(`${NAMESPACE}/${name}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

function addressOf({ id }: StagedCluster, i: number): string {
  return `10.${id.slice(1)}.${Math.floor(i / 250)}.${1 + (i % 250)}`;
}

/** VIPs by name, once all imports have one, and all slices that there should be are there. */
async function imported(cluster: StagedCluster): Promise<ReadonlyMap<string, string>> {
  return eventually(async () => {
    const imports = await cluster.list(IMPORT, NAMESPACE);
    const vips = new Map(imports.flatMap(vipOf));
    const slices = await cluster.list(
      SLICE,
      NAMESPACE,
      "multicluster.kubernetes.io/source-cluster",
    );
    const counts = [imports.length, vips.size, slices.length];
    assert.deepEqual(counts, [1.5 * EXPORTS, 1.5 * EXPORTS, 2 * EXPORTS], cluster.id);
    return vips;
  }, PATIENCE_MS);
}

function vipOf({ metadata: { name }, spec }: ApiObject): [string, string][] {
  const { ips = [] } = (spec ?? {}) as { readonly ips?: readonly string[] };
  return ips.length === 0 ? [] : [[name, ips.join()]];
}

test(`two clusters export ${EXPORTS} services each, and both import them with the same VIPs`, async (t) => {
  const began = performance.now();
  await Promise.all([exportAll(c1), exportAll(c2)]);
  const written = performance.now();
  const [here, there] = await Promise.all([imported(c1), imported(c2)]);
  const last = performance.now();
  t.diagnostic(
    `written in ${Math.round(written - began)} ms, all imported ${Math.round(last - written)} ms later`,
  );
  assert.deepEqual(here, there);
  assert.equal(new Set(here.values()).size, here.size, "no two have the same");
});

test("after that nothing is written, and a change of one export is one write in each cluster", async () => {
  for (const cluster of [c1, c2]) await cluster.atRest();
  const key = `${NAMESPACE}/s-${EXPORTS - 1}`;
  const before = c2.writes().length;
  await c1.endpoints(key, ["10.1.99.99"]);
  await c2.untilReady(key, { "10.1.99.99": "ready" });
  await c2.atRest();
  assert.deepEqual(
    c2
      .writes()
      .slice(before)
      .map(({ verb }) => verb),
    ["patch"],
  );
});
