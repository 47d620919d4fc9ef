import { setTimeout as sleep } from "node:timers/promises";
import { PEER, USER } from "../../test/apiserver/controller-stage.ts";
import type { Client } from "../client.ts";
import type { Change, Followed } from "../followed.ts";
import { type Calls, callsIn, callsSince, writesOf } from "./calls.ts";
import { addressesOf } from "./objects.ts";
import type { SliceWatch } from "./slice-watch.ts";
import { CLUSTERS, type ClusterName, type MeshStage } from "./stage.ts";

/** The longest that a change may take. */
const PATIENCE = 60_000;
/** Milliseconds between two changes, so that each is alone. */
const REST = 60;

/** One change that was alone. Times in milliseconds from when c1's API server acknowledged it. */
export interface CrossedChange extends Followed {
  /** Until a watch of c1's registry received it. */
  readonly published: number;
  /** Until a watch of c2's imported slices received it. */
  readonly imported: number;
  /** Until a watch of c1's imported slices received it, and one of the Service's own slice, as kube-proxy has. */
  readonly own: number;
  readonly native: number;
}

/** Watches that changes are received by. */
export interface Watches {
  readonly registry: SliceWatch;
  readonly imported: SliceWatch;
  readonly own: SliceWatch;
  readonly native: SliceWatch;
}

/** Changes of one service, each alone, and what they cost. */
export interface CrossedChanges {
  readonly changes: readonly CrossedChange[];
  /** What controllers wrote for them, by the cluster whose API server it was. */
  readonly writes: ReadonlyMap<ClusterName, Calls>;
  readonly connections: { readonly made: number; readonly failed: ReadonlyMap<string, number> };
}

/** Replaces the endpoints of c1's service so often, and waits each time until c2's client is answered by the new ones. */
export async function crossedChanges(
  stage: MeshStage,
  client: Client,
  times: number,
  { registry, imported, own, native }: Watches,
): Promise<CrossedChanges> {
  await client.until(stage.place, PATIENCE);
  client.forgive();
  const before = new Map(CLUSTERS.map((name) => [name, callsOf(stage, name)]));
  const changes: CrossedChange[] = [];
  for (let round = 0; round < times; round++) {
    await sleep(REST + Math.random() * 10);
    for (const watch of [registry, imported, own, native]) watch.forget();
    const change = await stage.move();
    await client.until(change.place, PATIENCE);
    const [followed] = client.followed([change]);
    if (followed === undefined) throw new Error("a change was not followed");
    changes.push({
      ...followed,
      published: await sinceIn(registry, change),
      imported: await sinceIn(imported, change),
      own: await sinceIn(own, change),
      native: await sinceIn(native, change),
    });
  }
  const since = CLUSTERS.map((name) => {
    const calls = callsSince(before.get(name) ?? new Map(), callsOf(stage, name));
    return [name, writesOf(calls)] as const;
  });
  const connections = { made: client.made, failed: new Map(client.failures) };
  return { changes, writes: new Map(since), connections };
}

/** Milliseconds from the acknowledgement of a change until this watch received it; 0 if that was before. */
export async function sinceIn(watch: SliceWatch, change: Change): Promise<number> {
  const [first = ""] = addressesOf(Number(change.place));
  return Math.max(0, (await watch.seen(first)) - change.acknowledged);
}

/** Requests of all controllers to a cluster's API server so far. */
export function callsOf(stage: MeshStage, name: ClusterName): Calls {
  const { plane } = stage.cluster(name);
  return callsIn([...plane.asked(USER), ...plane.asked(PEER)]);
}
