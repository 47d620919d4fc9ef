import { setTimeout as sleep } from "node:timers/promises";
import { registryNamespace } from "../../controller/registry/names.ts";
import type { ApiObject } from "../../test/apiserver/api-client.ts";
import type { StagedCluster } from "../../test/apiserver/controller-stage.ts";
import { now } from "../../test/connections/connections.ts";
import { eventually } from "../../test/stages/agent-process.ts";
import { count } from "../figures.ts";
import { effortOf, exportsOf, type Options } from "../options.ts";
import { LIVE, NAMESPACE } from "../shape.ts";
import { Arrivals } from "./arrivals.ts";
import { bareChanges, bareImport } from "./bare.ts";
import { type Calls, callsSince, writesOf } from "./calls.ts";
import { type CrossedChanges, callsOf, crossedChanges } from "./changes.ts";
import { kubeSlices } from "./kube-slices.ts";
import { type Taken, takenBy } from "./memory.ts";
import { SliceWatch } from "./slice-watch.ts";
import { CLUSTERS, type ClusterName, MeshStage } from "./stage.ts";

/** Milliseconds that all of an import may take. */
const PATIENCE = 300_000;
/** Milliseconds without a write after which nothing is left to do. */
const QUIET = 3_000;
const IMPORTED = `multicluster.kubernetes.io/service-name=${LIVE}`;
const NATIVE = `kubernetes.io/service-name=${LIVE}`;
const PUBLISHED = `clusterset-proxy.io/record=${LIVE}.${NAMESPACE}`;

/** What was measured of controllers in three clusters. */
export interface Measured {
  /** Of each cluster, beside the one service that changes. */
  readonly exports: number;
  /** Beside one service, and beside all. */
  readonly one: CrossedChanges;
  readonly all: CrossedChanges;
  /** Milliseconds from an acknowledgement to a copy, made by a bare watch and apply. */
  readonly bareChanges: readonly number[];
  /** The same from a pod's status to a slice of its own cluster, by kube-controller-manager. */
  readonly kubeSlices: readonly number[];
  /** Milliseconds until two clusters had imported everything of each other, from the start of their controllers. */
  readonly inStep: number;
  /** Milliseconds until the third cluster had imported everything of the two, and a bare apply of the same objects. */
  readonly fresh: number;
  readonly bareImport: number;
  /** Without any service; with all of three clusters; and started anew over all that. */
  readonly idle: Taken;
  readonly loaded: Taken;
  readonly restarted: Taken;
  /** Milliseconds until a controller restarted with existing objects is ready, and its writes. */
  readonly ready: number;
  readonly rewritten: Calls;
  /** Requests while nothing changed, and the duration in seconds. */
  readonly rest: { readonly seconds: number; readonly calls: Calls; readonly share: number };
}

/** The real controllers, bundled, on real API servers. */
export async function measured(options: Options, say: (what: string) => void): Promise<Measured> {
  const exports = exportsOf(options);
  const effort = effortOf(options, exports);
  await using stage = await MeshStage.open();
  const [c1, c2, c3] = [stage.cluster("c1"), stage.cluster("c2"), stage.cluster("c3")];

  say("controllers: two clusters, nothing exported");
  await Promise.all([started(c1), started(c2)]);
  await sleep(QUIET);
  const idle = await takenBy(c2);

  say("controllers: one export, its endpoints change");
  await stage.begin();
  const vip = vipOf(await c2.untilImported(`${NAMESPACE}/${LIVE}`, stage.addresses));
  await stage.agent.start();
  await using client = stage.connect(vip);
  await using registry = new SliceWatch(stage.client("c1"), registryNamespace("c1"), PUBLISHED);
  await using imported = new SliceWatch(stage.client("c2"), NAMESPACE, IMPORTED);
  await using own = new SliceWatch(stage.client("c1"), NAMESPACE, IMPORTED);
  await using native = new SliceWatch(stage.client("c1"), NAMESPACE, NATIVE);
  const watches = { registry, imported, own, native };
  const one = await crossedChanges(stage, client, effort.changes, watches);
  await Promise.all([c1.stop(), c2.stop()]);
  say("the same by a bare watch and apply");
  const bare = await bareChanges(stage, effort.changes);
  say("a pod's address into a slice by kube-controller-manager");
  const kube = await kubeSlices(stage.lab.router, effort.changes);

  say(`controllers: ${count(exports)} exports of two clusters come in step`);
  await Promise.all([stage.load("c1", exports), stage.load("c2", exports)]);
  const inStep = await untilImported(stage, ["c1", "c2"], exports, 2);
  await Promise.all([c1, c2].map(atRest));
  const all = await crossedChanges(stage, client, effort.changes, watches);

  say("the same objects by a bare apply");
  const bareMs = await bareImport(stage.client("c2"), c3.plane.admin);
  say(`controllers: a third cluster imports ${count(exports)} exports of two`);
  const fresh = await untilImported(stage, ["c3"], exports, 2);

  say(`controllers: three clusters x ${count(exports)} exports`);
  await stage.load("c3", exports);
  await arrived(stage, CLUSTERS, exports, 3);
  await Promise.all([c1, c2, c3].map(atRest));
  const loaded = await takenBy(c2);

  say("controllers: one starts over what is there");
  const began = performance.now();
  const before = callsOf(stage, "c2");
  await c2.stop();
  await started(c2);
  const ready = performance.now() - began;
  await atRest(c2);
  const rewritten = writesOf(callsSince(before, callsOf(stage, "c2")));
  const restarted = await takenBy(c2);

  say(`controllers: at rest, ${effort.idleSeconds} s`);
  const rest = await atRestFor(stage, effort.idleSeconds);
  return {
    ...{
      exports,
      one,
      all,
      bareChanges: bare,
      kubeSlices: kube,
      inStep,
      fresh,
      bareImport: bareMs,
    },
    ...{ idle, loaded, restarted, ready, rewritten, rest },
  };
}

/** Starts controllers, and gives the milliseconds until they have imported so many exports of so many clusters. */
async function untilImported(
  stage: MeshStage,
  names: readonly ClusterName[],
  exports: number,
  clusters: number,
): Promise<number> {
  const began = now();
  for (const name of names) await stage.cluster(name).launch();
  return (await arrived(stage, names, exports, clusters)) - began;
}

/** Waits until there is what these clusters should have imported; gives when that was. */
async function arrived(
  stage: MeshStage,
  names: readonly ClusterName[],
  exports: number,
  clusters: number,
): Promise<number> {
  const times = names.map(async (name) => {
    await using arrivals = new Arrivals(stage.client(name));
    // The service that changes is c1's alone.
    return await arrivals.until(exports + 1, exports * clusters + 1, PATIENCE);
  });
  return Math.max(...(await Promise.all(times)));
}

async function started(cluster: StagedCluster): Promise<void> {
  await cluster.launch();
  await eventually(async () => {
    const page = await cluster.page("/readyz");
    if (!page.startsWith("ok"))
      throw new Error(`${cluster.id} is not ready: ${page}\n${cluster.log}`);
  }, PATIENCE);
}

/** Waits until a controller has not written for a while. */
async function atRest(cluster: StagedCluster): Promise<void> {
  for (let before = -1; ; ) {
    const { length } = cluster.writes();
    if (length === before) return;
    before = length;
    await sleep(QUIET);
  }
}

/** What all controllers ask, and c2's takes of a processor, while nothing happens. */
async function atRestFor(stage: MeshStage, seconds: number): Promise<Measured["rest"]> {
  const c2 = stage.cluster("c2");
  const calls = callsOf(stage, "c2");
  const { cpuSeconds } = await takenBy(c2);
  await sleep(seconds * 1_000);
  const after = await takenBy(c2);
  return {
    seconds,
    calls: callsSince(calls, callsOf(stage, "c2")),
    share: (after.cpuSeconds - cpuSeconds) / seconds,
  };
}

function vipOf(found: ApiObject): string {
  const [vip] = (found.spec as { readonly ips: readonly string[] }).ips;
  if (vip === undefined) throw new Error("an import without a VIP");
  return vip;
}
