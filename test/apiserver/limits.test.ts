import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { conditionOf } from "../../cli/view/status.ts";
import type { Connections } from "../connections/connections.ts";
import { eventually } from "../stages/agent-process.ts";
import type { ApiReference } from "./api-client.ts";
import { ClusterSetStage, SERVICE } from "./clusterset-stage.ts";
import { EXPORT, IMPORT, type StagedCluster } from "./controller-stage.ts";

// Each limit that a namespace could fill for the others, with real API servers: what a cluster publishes (10 rules) and what a node holds (20, a slice and an import count, too).

/** Its name is the first in any order, and its exports are the oldest. */
const GREEDY = "aaa/greedy";
const MANY = 40;

let stage: ClusterSetStage;
let client: Connections;

before(async () => {
  stage = await ClusterSetStage.open({
    flags: ["--max-rules-per-cluster", "10"],
    agentFlags: ["--max-rules", "20"],
  });
  // In a peer, and in the client's own cluster.
  for (const [id, net] of [
    ["c2", "10.2.1"],
    ["c1", "10.1.1"],
  ] as const) {
    const cluster = stage.cluster(id);
    await cluster.namespace("aaa");
    await cluster.serve(
      GREEDY,
      Array.from({ length: MANY }, (_, i) => `${net}.${i + 1}`),
    );
    await cluster.export(GREEDY);
  }
  await untilToldIn(stage.cluster("c1"), GREEDY, /Left out/);
});
after(() => stage[Symbol.asyncDispose]());

/** What each sees: the greedy one is cut, and told so; the other has everything. */
async function check(): Promise<void> {
  const [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  await c1.untilImported(SERVICE, ["10.2.0.11", "10.3.0.11"]);
  for (const cluster of [c1, c2]) {
    await untilToldIn(cluster, GREEDY, /Left out: too-many-rules/);
  }
  await eventually(async () => {
    const [greedy, other] = [await planned(GREEDY), await planned(SERVICE)];
    assert.equal(greedy.limited?.reason, "node-limit", stage.agent.log);
    assert.equal(other.limited, undefined);
  });
}

interface Planned {
  readonly limited?: { readonly reason: string };
}

async function planned(key: string): Promise<Planned> {
  return JSON.parse(await stage.agent.page(`/plan/${key}`));
}

/** Waits until the condition of an export, or of its import, says it. */
async function untilToldIn(cluster: StagedCluster, key: string, what: RegExp): Promise<void> {
  for (const kind of [EXPORT, IMPORT])
    await eventually(async () => assert.match(await ready(cluster, kind, key), what));
}

async function ready(cluster: StagedCluster, kind: ApiReference, key: string): Promise<string> {
  return conditionOf(await cluster.find(kind, key), "Ready")?.message ?? "none";
}

test("a namespace that fills what a cluster may publish and a node may hold is cut, and others have all their endpoints", async () => {
  await stage.cluster("c2").export(SERVICE);
  await stage.cluster("c3").export(SERVICE);
  const { spec } = await stage.cluster("c1").untilImported(SERVICE, ["10.2.0.11", "10.3.0.11"]);
  const [vip = ""] = (spec as { ips: string[] }).ips;
  await check();
  client = stage.connect(vip);
  await client.settled("c2", 0, () => stage.log);
});

test("the same after restarts of controllers and agents, and nothing fails meanwhile", async () => {
  const from = client.attempts.length;
  for (const id of ["c2", "c1"] as const) await stage.cluster(id).replace();
  await stage.agent.stop();
  await stage.agent.start();
  await check();
  const errors = await client.settled("c2", from, () => stage.log);
  assert.deepEqual(errors, []);
});
