import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { registryNamespace } from "../../controller/registry/names.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { eventually } from "../support/agent-process.ts";
import type { ApiObject, ApiReference } from "./api-client.ts";
import type { Asked } from "./audit.ts";
import { ControlPlane, type ControlPlaneOptions } from "./control-plane.ts";
import {
  controllerRights,
  memberRights,
  publisherRights,
  readerRights,
} from "./controller-rights.ts";
import { loopback } from "./place.ts";

/** The controller of these sources. */
export const CONTROLLER = fileURLToPath(
  new URL("../../bin/clusterset-controller", import.meta.url),
);

/** Longer than the longest backoff after the faults of these tests. */
const PATIENCE_MS = 30_000;
const OWN_NAMESPACE = "clusterset-proxy";
const READS = ["get", "list", "watch"];
/** What the controller is called to its own API server, and what all others are. */
const USER = "controller";
const PEER = "peer";

export const IMPORT = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceImport" };
export const EXPORT = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceExport" };
export const SLICE = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" };

export interface ControllerStageOptions {
  /** Ids of the clusters. */
  readonly clusters: readonly string[];
  /** Where they publish; `mesh` if it is not said. */
  readonly registry?: "hub" | "mesh";
  /** More flags of every controller. */
  readonly flags?: readonly string[];
  /** True: each cluster has a kube-controller-manager. */
  readonly controllerManager?: boolean;
  /** Where a cluster's control plane and controller run: a node of a lab. Without it: on the loopback. */
  readonly nodeOf?: (cluster: string) => Namespace;
  /** More users of every control plane, without any rights. */
  readonly users?: readonly string[];
}

/** One cluster of a stage: a real control plane, and the real controller. */
export class StagedCluster {
  readonly id: string;
  readonly plane: ControlPlane;
  readonly #flags: readonly string[];
  readonly #node: Namespace | undefined;
  #process: Process | undefined;
  #pages = "";

  /** `node`: where the controller runs; on the loopback, if it is not said. */
  constructor(id: string, plane: ControlPlane, flags: readonly string[], node?: Namespace) {
    this.id = id;
    this.plane = plane;
    this.#flags = flags;
    this.#node = node;
  }

  /** Starts the controller, and waits for nothing. */
  async launch(): Promise<void> {
    const argv = [CONTROLLER, "--log-format", "json", ...this.#flags];
    if (this.#node !== undefined) {
      this.#process = this.#node.spawn([...argv, "--http-address", "off"]);
      return;
    }
    const place = await loopback();
    const address = `${place.address}:${place.port}`;
    this.#pages = `http://${address}`;
    this.#process = place.spawn([...argv, "--http-address", address]);
  }

  /** A page of a controller on the loopback, whatever its status; throws while there is none. */
  async page(path: string): Promise<string> {
    return (await fetch(`${this.#pages}${path}`)).text();
  }

  /** What the controller has logged. */
  get log(): string {
    return this.#process?.errors ?? "";
  }

  get process(): Process {
    if (this.#process === undefined) throw new Error("the controller was not started");
    return this.#process;
  }

  /** Asks the controller to end, and waits until it has. */
  async stop(): Promise<void> {
    await this.#process?.stop();
    this.#process = undefined;
  }

  /** The controller is killed without a word. */
  async kill(): Promise<void> {
    this.#process?.signal("SIGKILL");
    await this.#process?.exited;
    this.#process = undefined;
  }

  /** What the controller has written to its own API server so far, but for Leases. */
  writes(): Asked[] {
    const writes = this.plane.asked(USER).filter(({ verb }) => !READS.includes(verb));
    return writes.filter(({ uri }) => !uri.includes("/leases"));
  }

  /** Objects of a kind in a namespace that are labelled as the selector says. */
  list(kind: ApiReference, namespace: string, labelSelector = ""): Promise<ApiObject[]> {
    return this.plane.admin.list({ ...kind, metadata: { namespace } }, { labelSelector });
  }

  /** An object; undefined if there is none. */
  async find(kind: ApiReference, key: string): Promise<ApiObject | undefined> {
    const [namespace = "", name = ""] = key.split("/");
    const path = await this.plane.admin.pathOf({ ...kind, metadata: { namespace, name } });
    const { status, body } = await this.plane.admin.request("GET", path);
    return status === 404 ? undefined : (body as ApiObject);
  }

  /** A Service with these endpoints, as a controller manager would make them, and its export. */
  async serve(key: string, addresses: readonly string[], more: object = {}): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    await this.plane.admin.apply({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
    });
    await this.plane.admin.apply({
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace, name },
      spec: { ports: [{ name: "http", port: 80, protocol: "TCP" }], ...more },
    });
    await this.endpoints(key, addresses);
  }

  /** The endpoints of a Service. */
  async endpoints(key: string, addresses: readonly string[], ready = true): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    await this.plane.admin.apply({
      ...SLICE,
      metadata: { namespace, name: `${name}-1`, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready } })),
    });
  }

  /** Exports a Service. */
  async export(key: string): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    await this.plane.admin.apply({ ...EXPORT, metadata: { namespace, name } });
  }

  /** A namespace. */
  async namespace(name: string): Promise<void> {
    await this.plane.admin.apply(namespaceOf(name));
  }

  /** Waits until the controller has logged this. */
  async untilLogged(text: string): Promise<void> {
    await eventually(() => {
      if (!this.log.includes(text)) throw new Error(`${this.id} never said ${text}:\n${this.log}`);
    }, PATIENCE_MS);
  }

  /** Waits until nothing has been written for two seconds. */
  async atRest(): Promise<void> {
    await eventually(async () => {
      const before = this.writes().length;
      await sleep(2000);
      if (this.writes().length > before) throw new Error(`${this.id} writes\n${this.log}`);
    }, PATIENCE_MS);
  }

  /** Waits until the imported endpoints are ready, serving, or neither (`dead`), by address. */
  async untilReady(key: string, expected: Readonly<Record<string, string>>): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    const selector = `multicluster.kubernetes.io/service-name=${name}`;
    await eventually(async () => {
      const slices = await this.list(SLICE, namespace, selector);
      const found = Object.fromEntries(conditionsOf(slices));
      for (const [address, condition] of Object.entries(expected)) {
        if (found[address] !== condition) {
          throw new Error(`${this.id}: ${JSON.stringify(found)}\n${this.log}`);
        }
      }
    }, PATIENCE_MS);
  }

  /** Waits until a condition of an export is so: `True Valid`. */
  async untilCondition(key: string, type: string, expected: string): Promise<void> {
    await eventually(async () => {
      const found = await this.condition(key, type);
      if (found !== expected) {
        throw new Error(`${this.id}: ${type} of ${key} is ${found}, not ${expected}\n${this.log}`);
      }
    }, PATIENCE_MS);
  }

  /** Waits until an import has a VIP, and slices with just these addresses. */
  async untilImported(key: string, addresses: readonly string[]): Promise<ApiObject> {
    const [namespace = "", name = ""] = key.split("/");
    return eventually(async () => {
      const found = await this.find(IMPORT, key);
      const slices = await this.list(
        SLICE,
        namespace,
        `multicluster.kubernetes.io/service-name=${name}`,
      );
      const has = addressesOf(slices);
      const vips = (found?.spec as { ips?: string[] } | undefined)?.ips ?? [];
      if (found === undefined || vips.length === 0 || has.join() !== [...addresses].sort().join()) {
        throw new Error(
          `${this.id}: ${key} has ${vips.join() || "no VIP"} and ${has.join()}, not ${addresses.join()}\n${this.log}`,
        );
      }
      return found;
    }, PATIENCE_MS);
  }

  /** Waits until there is neither import nor slice of a name. */
  async untilGone(key: string): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    await eventually(async () => {
      const found = await this.find(IMPORT, key);
      const slices = await this.list(
        SLICE,
        namespace,
        `multicluster.kubernetes.io/service-name=${name}`,
      );
      if (found !== undefined || slices.length > 0) {
        throw new Error(`${this.id}: ${key} is still there\n${this.log}`);
      }
    }, PATIENCE_MS);
  }

  /** A condition of an export, as `Status Reason`. */
  async condition(key: string, type: string): Promise<string> {
    const found = await this.find(EXPORT, key);
    const status = found?.status as
      | { conditions?: { type: string; status: string; reason: string }[] }
      | undefined;
    const condition = status?.conditions?.find((one) => one.type === type);
    return condition === undefined ? "none" : `${condition.status} ${condition.reason}`;
  }
}

/** Clusters with real control planes and a real controller each, which know each other. */
export class ControllerStage implements AsyncDisposable {
  readonly clusters: readonly StagedCluster[];
  readonly #planes: readonly ControlPlane[];

  private constructor(clusters: readonly StagedCluster[], planes: readonly ControlPlane[]) {
    this.clusters = clusters;
    this.#planes = planes;
  }

  /** Starts all control planes, and tells the clusters of each other. No controller runs yet. */
  static async open(options: ControllerStageOptions): Promise<ControllerStage> {
    const { clusters: ids, registry = "mesh", flags = [], controllerManager = false } = options;
    const { nodeOf, users = [] } = options;
    const planes: ControlPlane[] = [];
    try {
      const known = { controllerManager, users: [USER, PEER, ...users] };
      if (nodeOf === undefined) {
        // One after the other: of several that look for a free port at once, two might find the same.
        for (const _ of ids) planes.push(await ControlPlane.start(known));
      } else {
        planes.push(...(await allStarted(ids.map((id) => ({ ...known, namespace: nodeOf(id) })))));
      }
      const hub = registry === "hub" ? await ControlPlane.start({ users: ids }) : undefined;
      if (hub !== undefined) planes.push(hub);
      const clusters = ids.map((id, i) => {
        const plane = planes[i];
        if (plane === undefined) throw new Error("a plane for each");
        const kubeconfig = plane.kubeconfig({ user: USER });
        const all = [
          ...["--kubeconfig", kubeconfig, "--cluster-id", id, "--registry", registry],
          ...["--lease-duration", "6s"],
          ...(hub === undefined ? [] : ["--hub-kubeconfig", hub.kubeconfig({ user: id })]),
          ...flags,
        ];
        return new StagedCluster(id, plane, all, nodeOf?.(id));
      });
      const prepare = async ({ id, plane }: StagedCluster) => {
        await plane.installCrds();
        await applyAll(plane, [
          namespaceOf(OWN_NAMESPACE),
          ...controllerRights(USER, OWN_NAMESPACE),
          ...(hub === undefined ? registryOf(id, USER, [PEER]) : []),
        ]);
      };
      await Promise.all(clusters.map(prepare));
      if (hub !== undefined) {
        await hub.installCrds();
        for (const id of ids) {
          const readers = ids.filter((other) => other !== id);
          await applyAll(hub, [...registryOf(id, id, readers), ...memberRights(id)]);
        }
      }
      const stage = new ControllerStage(clusters, planes);
      if (hub === undefined) await stage.#introduce();
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

  /** The cluster of this id. */
  cluster(id: string): StagedCluster {
    const found = this.clusters.find((one) => one.id === id);
    if (found === undefined) throw new Error(`there is no cluster ${id}`);
    return found;
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
        if (cluster !== peer) await cluster.plane.admin.apply(await peerSecret(peer));
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

/** A Secret of `peer` for the other clusters of a mesh. */
export async function peerSecret({ id, plane }: StagedCluster): Promise<object> {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      namespace: OWN_NAMESPACE,
      name: `peer-${id}`,
      labels: { "clusterset-proxy.io/peer": id },
    },
    stringData: { kubeconfig: plane.inlineKubeconfig({ user: PEER }) },
  };
}

/** A registry's namespace, whom it belongs to, and who reads it. */
function registryOf(id: string, writer: string, readers: readonly string[]): object[] {
  const name = registryNamespace(id);
  return [
    namespaceOf(name, { "clusterset-proxy.io/registry": id }),
    ...publisherRights(writer, name),
    ...readers.flatMap((reader) => readerRights(reader, name)),
  ];
}

function namespaceOf(name: string, labels: Readonly<Record<string, string>> = {}): object {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
}

async function applyAll({ admin }: ControlPlane, objects: readonly object[]): Promise<void> {
  for (const object of objects) await admin.apply(object);
}

interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: { readonly ready?: boolean; readonly serving?: boolean };
}

function conditionsOf(slices: readonly ApiObject[]): [string, string][] {
  return slices
    .flatMap(({ endpoints }) => (endpoints as Endpoint[] | null) ?? [])
    .map(({ addresses: [address = ""], conditions: { ready, serving } }) => [
      address,
      ready === true ? "ready" : serving === true ? "serving" : "dead",
    ]);
}

function addressesOf(slices: readonly ApiObject[]): string[] {
  return slices
    .flatMap(({ endpoints }) => (endpoints as { addresses: string[] }[] | null) ?? [])
    .flatMap(({ addresses }) => addresses)
    .sort();
}
