import { fileURLToPath } from "node:url";
import { registryNamespace } from "../../controller/registry/names.ts";
import type { Process } from "../lab/process.ts";
import { eventually } from "../support/agent-process.ts";
import type { ApiObject, ApiReference } from "./api-client.ts";
import { ControlPlane } from "./control-plane.ts";
import { loopback } from "./place.ts";

/** The controller of these sources. */
export const CONTROLLER = fileURLToPath(
  new URL("../../bin/clusterset-controller", import.meta.url),
);

/** Longer than the longest backoff after the faults of these tests. */
const PATIENCE_MS = 30_000;
const OWN_NAMESPACE = "clusterset-proxy";

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
}

/** One cluster of a stage: a real control plane, and the real controller. */
export class StagedCluster {
  readonly id: string;
  readonly plane: ControlPlane;
  readonly #flags: readonly string[];
  #process: Process | undefined;

  constructor(id: string, plane: ControlPlane, flags: readonly string[]) {
    this.id = id;
    this.plane = plane;
    this.#flags = flags;
  }

  /** Starts the controller, and waits for nothing. */
  async launch(): Promise<void> {
    const place = await loopback();
    this.#process = place.spawn([CONTROLLER, "--log-format", "json", ...this.#flags]);
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
    const planes: ControlPlane[] = [];
    try {
      for (const _ of ids)
        planes.push(await ControlPlane.start({ controllerManager, users: ["peer"] }));
      const hub = registry === "hub" ? await ControlPlane.start() : undefined;
      if (hub !== undefined) {
        planes.push(hub);
        await hub.installCrds();
      }
      const clusters = ids.map((id, i) => {
        const plane = planes[i];
        if (plane === undefined) throw new Error("a plane for each");
        const kubeconfig = plane.kubeconfig({ user: "admin" });
        return new StagedCluster(id, plane, [
          ...["--kubeconfig", kubeconfig, "--cluster-id", id, "--registry", registry],
          ...["--http-address", "off", "--lease-duration", "6s"],
          ...(hub === undefined ? [] : ["--hub-kubeconfig", hub.kubeconfig({ user: "admin" })]),
          ...flags,
        ]);
      });
      for (const { id, plane } of clusters) {
        await plane.installCrds();
        await plane.admin.apply({
          apiVersion: "v1",
          kind: "Namespace",
          metadata: { name: OWN_NAMESPACE },
        });
        if (hub === undefined) continue;
        await hub.admin.apply({
          apiVersion: "v1",
          kind: "Namespace",
          metadata: {
            name: registryNamespace(id),
            labels: { "clusterset-proxy.io/registry": id },
          },
        });
      }
      const stage = new ControllerStage(clusters, planes);
      if (hub === undefined) await stage.#introduce();
      return stage;
    } catch (error) {
      await Promise.all(planes.map((plane) => plane.remove()));
      throw error;
    }
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
      await allowReading(peer);
      for (const cluster of this.clusters) {
        if (cluster !== peer) await cluster.plane.admin.apply(await peerSecret(peer));
      }
    }
  }
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
    stringData: { kubeconfig: plane.inlineKubeconfig({ user: "peer" }) },
  };
}

/** What the operator of a cluster gives to the others of a mesh: to read one namespace. */
async function allowReading({ id, plane }: StagedCluster): Promise<void> {
  const namespace = registryNamespace(id);
  const rbac = "rbac.authorization.k8s.io";
  const metadata = { namespace, name: "peers" };
  const read = { verbs: ["list", "watch"] };
  await plane.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await plane.admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: "Role",
    metadata,
    rules: [
      { apiGroups: ["multicluster.x-k8s.io"], resources: ["serviceimports"], ...read },
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], ...read },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], ...read },
    ],
  });
  await plane.admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: "RoleBinding",
    metadata,
    subjects: [{ kind: "User", apiGroup: rbac, name: "peer" }],
    roleRef: { kind: "Role", apiGroup: rbac, name: "peers" },
  });
}

function addressesOf(slices: readonly ApiObject[]): string[] {
  return slices
    .flatMap(({ endpoints }) => (endpoints as { addresses: string[] }[] | null) ?? [])
    .flatMap(({ addresses }) => addresses)
    .sort();
}
