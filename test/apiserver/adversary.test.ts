import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { placeOf } from "../connections/attempt.ts";
import { Chance } from "../generators/chance.ts";
import { SEED } from "../seed.ts";
import { PEER_ID, peerWrite, tenantWrite } from "./adversary-writes.ts";
import { ApiError } from "./api-client.ts";
import { ClusterSetStage, SERVICE } from "./clusterset-stage.ts";
import { IMPORT } from "./controller-stage.ts";
import type { ServiceImport } from "./service-case.ts";

// A tenant of c1, who may write the namespace `evil`, and the cluster c3, which may write its registry, do what they can;
// a client of c1 connects to shop/web, which c1 and c2 export.

/** Seconds that the adversaries have. `ADVERSARY_SECONDS=1200 SEED=7`: more, and other writes. */
const SECONDS = Number(process.env.ADVERSARY_SECONDS ?? 8);
/** Milliseconds between two writes. */
const PAUSE_MS = 40;
/** Megabytes of a million bytes. */
const MOST = { agent: 256, controller: 512 } as const;

let stage: ClusterSetStage;
let vip: string;
let wanted: readonly string[];

before(async () => {
  stage = await ClusterSetStage.open({ flags: ["--deciding-cluster", "shop=c1"] });
  for (const id of ["c1", "c2"] as const) await stage.cluster(id).export(SERVICE);
  await stage.cluster("c1").untilImported(SERVICE, ["10.1.0.11", "10.2.0.11"]);
  await stage.cluster("c1").namespace("evil");
  [vip = ""] = await vipsOf(SERVICE);
  wanted = [vip, "10.1.0.11", "10.2.0.11", "10.1.0.20", "241.0.0.77", "10.96.0.1", "192.0.2.1"];
  // Its controller would undo what the adversary writes.
  await stage.cluster(PEER_ID).kill();
});
after(() => stage[Symbol.asyncDispose]());

async function vipsOf(key: string): Promise<readonly string[]> {
  const found = (await stage.cluster("c1").find(IMPORT, key)) as ServiceImport | undefined;
  return found?.spec.ips ?? [];
}

async function tenant(chance: Chance): Promise<boolean> {
  const { admin } = stage.cluster("c1").plane;
  const { object, isDeletion } = tenantWrite(chance, wanted);
  const reference = object as Parameters<typeof admin.delete>[0];
  return isDone(() => (isDeletion ? admin.delete(reference) : admin.apply(object)));
}

async function peer(chance: Chance): Promise<boolean> {
  const { admin } = stage.cluster(PEER_ID).plane;
  return isDone(() => admin.apply(peerWrite(chance, wanted)));
}

/** False if the API server rejects it. */
async function isDone(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return false;
  }
}

/** The most memory that a process had, in megabytes of a million bytes. */
function peakOf(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return (Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6;
}

test(`whatever a tenant and a peer write, connections to another namespace's VIP go where they went, and memory is bounded (seed ${SEED})`, async (t) => {
  const chance = new Chance(SEED);
  // Longer than a busy machine takes; an endpoint that does not exist never answers.
  const client = stage.connect(vip, SECONDS + 30, 5000);
  await client.settled("c1", 0, () => stage.log);
  // Before that, the agent may not have had the import yet.
  const from = client.attempts.length;
  const end = Date.now() + SECONDS * 1000;
  let writes = 0;
  while (Date.now() < end) {
    for (const adversary of [tenant, peer]) if (await adversary(chance)) writes++;
    await sleep(PAUSE_MS);
  }
  // What was written last has its effect, too.
  await client.settled("c1", client.attempts.length, () => stage.log);
  await client.finish();
  const others = client.attempts
    .slice(from)
    .map(placeOf)
    .filter((place) => place !== "c1");
  assert.deepEqual(others, [], stage.log);
  assert.ok(writes > SECONDS, `${writes} writes`);
  assert.ok(client.attempts.length > SECONDS * 10);
  t.diagnostic(`${writes} writes, ${client.attempts.length} connections`);
  const agent = peakOf(stage.agent.pid);
  t.diagnostic(`the agent: ${Math.round(agent)} MB`);
  assert.ok(agent < MOST.agent, `the agent had ${agent} MB`);
  for (const id of ["c1", "c2"] as const) {
    const controller = peakOf(stage.cluster(id).process.pid);
    t.diagnostic(`the controller of ${id}: ${Math.round(controller)} MB`);
    assert.ok(controller < MOST.controller, `the controller of ${id} had ${controller} MB`);
  }
});

test("afterwards a Service of the tenant is imported as any other", async () => {
  await stage.cluster("c1").serve("evil/fresh", ["10.1.0.11"]);
  await stage.cluster("c1").export("evil/fresh");
  await stage.cluster("c1").untilImported("evil/fresh", ["10.1.0.11"]);
  assert.deepEqual(await vipsOf(SERVICE), [vip]);
});
