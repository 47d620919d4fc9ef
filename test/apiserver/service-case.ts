import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../stages/agent-process.ts";
import type { ApiClient, ApiObject } from "./api-client.ts";

/** Longer than the longest backoff of a machine that is busy. */
const PATIENCE_MS = 60_000;
const VERSION = "multicluster.x-k8s.io/v1beta1";

/** A port of a Service. */
export interface ServedPort {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
  readonly appProtocol?: string;
}

/** What of a Service a case may choose; its API server fills in the rest. */
export interface ServiceSpec {
  readonly ports?: readonly ServedPort[];
  readonly [field: string]: unknown;
}

/** A condition of a status. */
export interface StatusCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

/** A ServiceImport as its API server shows it. */
export interface ServiceImport extends ApiObject {
  readonly spec: ServiceSpec & {
    readonly type: string;
    readonly ports: readonly ServedPort[];
    readonly ips?: readonly string[];
    readonly ipFamilies?: readonly string[];
  };
  readonly status?: {
    readonly clusters?: readonly { readonly cluster: string }[];
    readonly endpointSliceObjects?: string;
    readonly conditions?: readonly StatusCondition[];
  };
}

/** A slice as its API server shows it. */
export interface Slice extends ApiObject {
  readonly metadata: ApiObject["metadata"] & { readonly labels: Readonly<Record<string, string>> };
  readonly addressType: string;
  readonly ports: readonly ServedPort[];
  readonly endpoints: readonly Endpoint[];
}

/** An endpoint of a slice, with more fields. */
export interface Endpoint {
  readonly addresses: readonly string[];
  readonly hostname?: string;
  readonly conditions?: { readonly ready?: boolean; readonly [name: string]: unknown };
  readonly [field: string]: unknown;
}

/** A change of an import: `ADDED`, `MODIFIED` or `DELETED`, and what it was then. */
export interface Change {
  readonly type: string;
  readonly to: ServiceImport;
}

/** What is changed in how a case is set up. */
export interface ServiceCaseOptions {
  /** Clusters that do not have the namespace yet. */
  readonly without?: readonly string[];
  /** Group and version that ServiceExports and ServiceImports are written and read in; v1beta1. */
  readonly version?: string;
}

/** What a case needs of a cluster, whether that is an API server alone or has nodes and pods, too. */
export interface CaseCluster {
  readonly id: string;
  readonly plane: { readonly admin: ApiClient };
  /** What its controller has logged. */
  readonly log: string | Promise<string>;
}

/** Clusters that know each other. */
export interface CaseStage<Cluster extends CaseCluster = CaseCluster> {
  readonly clusters: readonly Cluster[];
}

let cases = 0;

/** The case of one Service, `hello`, in its own namespace: many run at the same time on one stage. */
export class ServiceCase<Cluster extends CaseCluster = CaseCluster> {
  readonly namespace = `case-${++cases}`;
  readonly name = "hello";
  readonly #stage: CaseStage<Cluster>;
  readonly #version: string;
  #marks = 0;

  private constructor(stage: CaseStage<Cluster>, { version = VERSION }: ServiceCaseOptions) {
    this.#stage = stage;
    this.#version = version;
  }

  /** Makes its namespace in the clusters of a stage. */
  static async open<Cluster extends CaseCluster>(
    stage: CaseStage<Cluster>,
    options: ServiceCaseOptions = {},
  ): Promise<ServiceCase<Cluster>> {
    const opened = new ServiceCase(stage, options);
    const clusters = stage.clusters.filter(({ id }) => !options.without?.includes(id));
    await Promise.all(clusters.map(({ id }) => opened.appear(id)));
    return opened;
  }

  /** Ids of all clusters. */
  get clusters(): readonly string[] {
    return this.#stage.clusters.map(({ id }) => id);
  }

  /** The cluster of this id. */
  in(id: string): Cluster {
    const found = this.#stage.clusters.find((one) => one.id === id);
    if (found === undefined) throw new Error(`there is no cluster ${id}`);
    return found;
  }

  /** Which object of this namespace: the Service's, unless it is named. */
  reference(apiVersion: string, kind: string, name = this.name) {
    return { apiVersion, kind, metadata: { namespace: this.namespace, name } };
  }

  get importReference() {
    return this.reference(this.#version, "ServiceImport");
  }

  get exportReference() {
    return this.reference(this.#version, "ServiceExport");
  }

  get serviceReference() {
    return this.reference("v1", "Service");
  }

  /** The namespace appears in a cluster. */
  async appear(id: string): Promise<void> {
    const metadata = { name: this.namespace };
    await this.in(id).plane.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata });
  }

  /** The Service in a cluster: TCP port 80, named `http`, unless the spec differs. */
  async serve(id: string, spec: ServiceSpec = {}, metadata: object = {}): Promise<void> {
    const { serviceReference: service } = this;
    await this.in(id).plane.admin.apply({
      ...service,
      metadata: { ...service.metadata, ...metadata },
      spec: { ports: [{ name: "http", port: 80, protocol: "TCP" }], ...spec },
    });
  }

  /**
   * A slice of the Service, as a controller manager would make it. Its family is that of the first address; its pods
   * listen on 8000 and the Service's port.
   */
  async slice(
    id: string,
    endpoints: readonly Endpoint[],
    ports: readonly ServedPort[] = [{ name: "http", port: 80 }],
    more: object = {},
  ): Promise<void> {
    const family = endpoints[0]?.addresses[0]?.includes(":") ? "IPv6" : "IPv4";
    const slice = this.#slice(`hello-${family}`.toLowerCase());
    await this.in(id).plane.admin.apply({
      ...slice,
      metadata: { ...slice.metadata, labels: { "kubernetes.io/service-name": this.name } },
      addressType: family,
      ports: ports.map(({ name = "", port, protocol = "TCP" }) => {
        return { name, port: 8000 + port, protocol };
      }),
      endpoints,
      ...more,
    });
  }

  /** The Service is exported. */
  async export(id: string, spec: object = {}): Promise<void> {
    await this.in(id).plane.admin.apply({ ...this.exportReference, spec });
  }

  /** The Service is no longer exported. */
  async unexport(id: string): Promise<void> {
    await this.in(id).plane.admin.delete(this.exportReference);
  }

  /** The Service is deleted, with its slices. */
  async unserve(id: string): Promise<void> {
    const { admin } = this.in(id).plane;
    await admin.delete(this.serviceReference);
    for (const { metadata } of await this.#labelled(id, "kubernetes.io/service-name"))
      await admin.delete(this.#slice(metadata.name));
  }

  /** Ages have whole seconds: an export created after this is younger. */
  async grow(): Promise<void> {
    await sleep(1100);
  }

  /** The import in a cluster; undefined if there is none. */
  async imported(id: string): Promise<ServiceImport | undefined> {
    const found = await this.in(id).plane.admin.find(this.importReference);
    return found as ServiceImport | undefined;
  }

  /** The imported slices in a cluster that list endpoints, by family and source. */
  async slices(id: string): Promise<Slice[]> {
    return (await this.allSlices(id)).filter(({ endpoints }) => endpoints.length > 0);
  }

  /** All imported slices in a cluster, also empty ones. */
  async allSlices(id: string): Promise<Slice[]> {
    const found = await this.#labelled(id, "multicluster.kubernetes.io/service-name");
    const order = ({ addressType, metadata: { labels } }: Slice) =>
      `${addressType} ${labels["multicluster.kubernetes.io/source-cluster"]}`;
    return found.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }

  #slice(name?: string) {
    return this.reference("discovery.k8s.io/v1", "EndpointSlice", name);
  }

  /** Slices in a cluster of which a label says that they are the Service's. */
  async #labelled(id: string, label: string): Promise<Slice[]> {
    const query = { labelSelector: `${label}=${this.name}` };
    const found = (await this.in(id).plane.admin.list(this.#slice(), query)) as Slice[];
    // Of an empty list, an API server makes null.
    return found.map((slice) => ({ ...slice, endpoints: slice.endpoints ?? [] }));
  }

  /** The ServiceExport in a cluster. */
  async exported(id: string) {
    return (await this.in(id).plane.admin.get(this.exportReference)) as ApiObject & {
      readonly status?: { readonly conditions?: readonly StatusCondition[] };
    };
  }

  /** A condition of the ServiceExport in a cluster. */
  async condition(id: string, type: string): Promise<StatusCondition | undefined> {
    const { status } = await this.exported(id);
    return status?.conditions?.find((one) => one.type === type);
  }

  /** Waits until a condition of the ServiceExport begins so, as `Status Reason message`. */
  async untilCondition(id: string, type: string, words: string): Promise<StatusCondition> {
    return this.until(id, async () => {
      const condition = await this.condition(id, type);
      const found = `${condition?.status} ${condition?.reason} ${condition?.message}`;
      if (condition === undefined || !found.startsWith(words)) {
        throw new Error(`${type} is ${found}, not ${words}`);
      }
      return condition;
    });
  }

  /** Waits until there is an import in a cluster, and the check holds for it. */
  async untilImported<T>(
    id: string,
    check: (found: ServiceImport) => T | Promise<T>,
  ): Promise<ServiceImport> {
    return this.until(id, async () => {
      const found = await this.imported(id);
      if (found === undefined) throw new Error("there is no import");
      await check(found);
      return found;
    });
  }

  /** Waits until there is an import in every cluster, and the check holds for each. */
  async everywhere(check: (found: ServiceImport) => void): Promise<void> {
    for (const id of this.clusters) await this.untilImported(id, check);
  }

  /** Waits until the check holds for the imported slices in a cluster that list endpoints. */
  async untilSlices(id: string, check: (found: readonly Slice[]) => void): Promise<Slice[]> {
    return this.until(id, async () => {
      const found = await this.slices(id);
      check(found);
      return found;
    });
  }

  /** Waits until neither import nor slice is left in a cluster. */
  async untilGone(id: string): Promise<void> {
    await this.until(id, async () => {
      if ((await this.imported(id)) !== undefined) throw new Error("the import is still there");
      if ((await this.allSlices(id)).length > 0) throw new Error("slices are still there");
    });
  }

  /** Waits until a condition holds in a cluster; throws with the controller's log if it never does. */
  async until<T>(id: string, check: () => Promise<T>): Promise<T> {
    try {
      return await eventually(check, PATIENCE_MS);
    } catch (error) {
      const lines = (await this.in(id).log).split("\n");
      // Lines about this case, and the last lines, which may have the cause of its end.
      const about = lines.filter((line, i) => {
        return line.includes(this.namespace) || i > lines.length - 5;
      });
      throw new Error(`${this.namespace}, in ${id}\n${about.join("\n")}`, { cause: error });
    }
  }

  /**
   * Waits until the clusters have worked off what was there to be worked off: a Service that is exported now by `id`
   * is imported everywhere. Returns its name.
   */
  async settle(id: string): Promise<string> {
    const name = `mark-${++this.#marks}`;
    const { admin } = this.in(id).plane;
    const spec = { ports: [{ port: 1 }] };
    await admin.apply({ ...this.reference("v1", "Service", name), spec });
    await admin.apply(this.reference(this.#version, "ServiceExport", name));
    for (const cluster of this.clusters) {
      await this.until(cluster, async () => {
        const reference = this.reference(this.#version, "ServiceImport", name);
        const found = await this.in(cluster).plane.admin.find(reference);
        if (found === undefined) throw new Error(`${name} is not imported`);
      });
    }
    return name;
  }

  /** All that has happened to the import in a cluster since it was as it was seen, until that cluster is at rest. */
  async changesSince(id: string, seen: ServiceImport): Promise<Change[]> {
    const mark = await this.settle(id);
    const { resourceVersion } = seen.metadata;
    const changes: Change[] = [];
    const { admin } = this.in(id).plane;
    for await (const { type, object } of admin.watch(this.importReference, { resourceVersion })) {
      if (object.metadata.name === mark) break;
      if (object.metadata.name === this.name) changes.push({ type, to: object as ServiceImport });
    }
    return changes;
  }
}
