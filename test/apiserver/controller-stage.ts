import { registryNamespace } from "../../controller/registry/names.ts";
import { manifest } from "../generators/objects.ts";
import { POD_RANGES } from "../generators/pod-ranges.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { ProgramFlags } from "./components.ts";
import { ControlPlane, type ControlPlaneOptions } from "./control-plane.ts";
import { OURS, type Release } from "./release.ts";
import { hubRights, memberRights, meshRights } from "./rights.ts";
import { StagedCluster, USER } from "./staged-cluster.ts";

export { EXPORT, IMPORT, SLICE, StagedCluster, serviceSlice, USER } from "./staged-cluster.ts";

/** Where Secrets of peers are. */
export const OWN_NAMESPACE = "clusterset-proxy";
/** Lease duration (`--lease-duration`): on a busy machine, a controller may get no processor for seconds. */
const LEASE = "60s";
/** Lease duration of clusters whose Lease is to expire. */
export const SHORT_LEASE = "6s";
/** What all others are called to an API server. */
export const PEER = "peer";

export interface ControllerStageOptions {
  /** Ids of the clusters. */
  readonly clusters: readonly string[];
  /** Where they publish; `mesh` by default. */
  readonly registry?: "hub" | "mesh";
  /** The command that starts a controller; that of its cluster's release by default. */
  readonly program?: readonly string[];
  /** Clusters with another release than these sources. */
  readonly releases?: Readonly<Record<string, Release>>;
  /** Clusters with `SHORT_LEASE`. Tests whose subject is not the expiry need none. */
  readonly shortLeases?: readonly string[];
  /** More flags of every controller. */
  readonly flags?: readonly string[];
  /** Clusters that have a kube-controller-manager, and flags of it. */
  readonly controllerManagers?: Readonly<Record<string, ProgramFlags>>;
  /** Where a cluster's control plane and controller run: a node of a lab. Without it: on the loopback. */
  readonly nodeOf?: (cluster: string) => Namespace;
  /** More users of every control plane, without any rights. */
  readonly users?: readonly string[];
}

/** Clusters with real control planes and a real controller each, which know each other. */
export class ControllerStage implements AsyncDisposable {
  readonly clusters: readonly StagedCluster[];
  readonly #planes: readonly ControlPlane[];

  private constructor(clusters: readonly StagedCluster[], planes: readonly ControlPlane[]) {
    this.clusters = clusters;
    this.#planes = planes;
  }

  /** Starts all control planes, and configures the clusters as peers. No controller runs yet. */
  static async open(options: ControllerStageOptions): Promise<ControllerStage> {
    const { clusters: ids, registry = "mesh", flags = [], controllerManagers = {} } = options;
    const { shortLeases = [], nodeOf, program, releases = {}, users = [] } = options;
    const planes: ControlPlane[] = [];
    try {
      const known = ids.map((id) => {
        const controllerManager = controllerManagers[id] ?? false;
        const namespace = nodeOf?.(id);
        const own = { controllerManager, ...(namespace !== undefined && { namespace }) };
        return { ...own, users: [USER, PEER, ...users] };
      });
      if (nodeOf === undefined) {
        // One after the other: of several that look for a free port at once, two might find the same.
        for (const one of known) planes.push(await ControlPlane.start(one));
      } else {
        planes.push(...(await allStarted(known)));
      }
      const hub = registry === "hub" ? await ControlPlane.start({ users: ids }) : undefined;
      if (hub !== undefined) planes.push(hub);
      const clusters = ids.map((id, i) => {
        const plane = planes[i];
        if (plane === undefined) throw new Error("a plane for each");
        const kubeconfig = plane.kubeconfig({ user: USER });
        const command = program ?? releases[id]?.controller ?? OURS.controller;
        const its = [
          ...["--kubeconfig", kubeconfig, "--cluster-id", id, "--registry", registry],
          ...["--lease-duration", shortLeases.includes(id) ? SHORT_LEASE : LEASE],
          ...(hub === undefined ? [] : ["--hub-kubeconfig", hub.kubeconfig({ user: id })]),
          ...flags,
        ];
        const node = nodeOf?.(id);
        return new StagedCluster({
          ...{ id, plane, program: command, flags: its },
          ...(node !== undefined && { node }),
        });
      });
      const stage = new ControllerStage(clusters, planes);
      const prepare = async ({ id, plane }: StagedCluster) => {
        const release = releases[id] ?? OURS;
        await plane.installCrds({ release });
        await stage.allow(id, release);
      };
      await Promise.all(clusters.map(prepare));
      if (hub === undefined) await stage.#introduce();
      else await stage.prepareHub();
      return stage;
    } catch (error) {
      await Promise.all(planes.map((plane) => plane.remove()));
      throw error;
    }
  }

  /** The control plane of the hub. Throws if there is none. */
  get hub(): ControlPlane {
    const hub = this.#planes[this.clusters.length];
    if (hub === undefined) throw new Error("this stage has no hub");
    return hub;
  }

  /** What an operator makes on an empty hub: kinds, namespaces, and rights. */
  async prepareHub(): Promise<void> {
    await this.hub.installCrds();
    const ids = this.clusters.map(({ id }) => id);
    await applyAll(this.hub, hubRights(ids));
    for (const id of ids) {
      const namespace = manifest("Namespace", registryNamespace(id));
      await this.hub.admin.patch(namespace, { metadata: { annotations: POD_RANGES } });
    }
  }

  /** The cluster of this id. */
  cluster(id: string): StagedCluster {
    const found = this.clusters.find((one) => one.id === id);
    if (found === undefined) throw new Error(`there is no cluster ${id}`);
    return found;
  }

  /** Applies a release's permissions in a cluster. */
  async allow(id: string, release: Release): Promise<void> {
    const isMesh = this.#planes.length === this.clusters.length;
    const rights = isMesh ? meshRights(id, USER, PEER, release) : memberRights(USER, release);
    await applyAll(this.cluster(id).plane, rights);
  }

  /** Starts all controllers. */
  async start(): Promise<void> {
    for (const cluster of this.clusters) await cluster.launch();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.clusters.map((cluster) => cluster.kill()));
    await Promise.all(this.#planes.map((plane) => plane.remove()));
  }

  /** Each cluster gets a Secret for each other one, with a token that reads its registry alone. */
  async #introduce(): Promise<void> {
    for (const peer of this.clusters) {
      for (const cluster of this.clusters) {
        if (cluster !== peer) await cluster.plane.admin.apply(secretOf(peer));
      }
    }
  }
}

/** Control planes that are started at once. If one does not start, none is left. */
async function allStarted(options: readonly ControlPlaneOptions[]): Promise<ControlPlane[]> {
  const outcomes = await Promise.allSettled(options.map((one) => ControlPlane.start(one)));
  const planes = outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = outcomes.find((one) => one.status === "rejected");
  if (failed === undefined) return planes;
  await Promise.all(planes.map((plane) => plane.remove()));
  throw failed.reason;
}

/** A Secret of a cluster for the others of a mesh. */
export function secretOf({ id, plane }: StagedCluster): object {
  return peerSecret(id, plane.inlineKubeconfig({ user: PEER }));
}

/** The same for a cluster that is read with this kubeconfig. */
export function peerSecret(id: string, kubeconfig: string): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      namespace: OWN_NAMESPACE,
      name: `peer-${id}`,
      labels: { "clusterset-proxy.io/peer": id },
      annotations: POD_RANGES,
    },
    stringData: { kubeconfig },
  };
}

async function applyAll({ admin }: ControlPlane, objects: readonly object[]): Promise<void> {
  for (const object of objects) await admin.apply(object);
}
