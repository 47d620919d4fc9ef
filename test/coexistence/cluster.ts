import type { ApiClient } from "../apiserver/api-client.ts";
import { ControlPlane } from "../apiserver/control-plane.ts";
import { serviceSlice } from "../apiserver/staged-cluster.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { startServer } from "../lab/programs.ts";

/** Where the Service `shop/web` answers. */
export const CLUSTER_IP = "10.96.0.50";
const PORT = { name: "http", port: 80, protocol: "TCP" };

/** Pods that respond with their names: `a` and `b` are in this cluster, `c` is in another. */
export type Server = "a" | "b" | "c";

/**
 * A cluster with a real API server, Services, and nodes that have nothing but these in common, so that on each
 * another kube-proxy can run. Another cluster has a server for what is imported.
 */
export class Cluster implements AsyncDisposable {
  readonly lab: Lab;
  readonly plane: ControlPlane;

  private constructor(lab: Lab, plane: ControlPlane) {
    this.lab = lab;
    this.plane = plane;
  }

  /** Brings it up, with a node of each of these names, and a pod `client` on each. */
  static async create(nodes: readonly string[]): Promise<Cluster> {
    const lab = await Lab.create({
      clusters: [
        {
          id: "c1",
          nodes: [
            { name: "servers", pods: { a: [], b: [] } },
            ...nodes.map((name) => ({ name, pods: { client: [] } })),
          ],
        },
        { id: "c2", nodes: [{ name: "servers", pods: { c: [] } }] },
      ],
    });
    try {
      const plane = await ControlPlane.start({ namespace: lab.router });
      const cluster = new Cluster(lab, plane);
      await cluster.#fill(nodes);
      return cluster;
    } catch (error) {
      await lab.remove();
      throw error;
    }
  }

  node(name: string): Namespace {
    return this.lab.node("c1", name);
  }

  client(name: string): Namespace {
    return this.lab.pod("c1", name, "client");
  }

  /** The address of a server. */
  server(name: Server): string {
    return this.#serverPod(name).address();
  }

  /** Makes or changes the n-th Service of many: with endpoints, without, with a node port, with affinity, gone. */
  async changeService(n: number): Promise<void> {
    const { admin } = this.plane;
    const name = `other-${n % 7}`;
    const reference = { apiVersion: "v1", kind: "Service", metadata: { namespace: "shop", name } };
    // It may not be there, or not any more.
    if (n % 5 === 4) return admin.delete(reference).catch(() => undefined);
    const shape = [{}, { type: "NodePort" }, { sessionAffinity: "ClientIP" }][n % 3];
    await admin.apply({ ...reference, spec: { ports: [PORT], ...shape } });
    await addEndpoints(admin, name, n % 2 === 0 ? [this.server("a")] : []);
  }

  /** Makes a range one of those that Services get their addresses from. */
  async addServiceRange(name: string, cidr: string): Promise<void> {
    const kind = { apiVersion: "networking.k8s.io/v1", kind: "ServiceCIDR" };
    await this.plane.admin.apply({ ...kind, metadata: { name }, spec: { cidrs: [cidr] } });
  }

  /** Makes a Service with one endpoint. */
  async addService(name: string, clusterIP: string, server: Server): Promise<void> {
    await addService(this.plane.admin, name, { clusterIP }, [this.server(server)]);
  }

  async remove(): Promise<void> {
    await this.plane.remove();
    await this.lab.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
  }

  #serverPod(name: Server): Namespace {
    return this.lab.pod(name === "c" ? "c2" : "c1", "servers", name);
  }

  async #fill(nodes: readonly string[]): Promise<void> {
    const { admin } = this.plane;
    for (const name of ["a", "b", "c"] as const)
      await startServer(this.#serverPod(name), "--name", name);
    for (const name of nodes) await addNode(admin, name, this.node(name).address());
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
    const servers = [this.server("a"), this.server("b")];
    await addService(admin, "web", { clusterIP: CLUSTER_IP }, servers);
    await addService(admin, "nobody", {}, []);
    await addService(admin, "door", { type: "NodePort" }, servers);
  }
}

async function addNode(admin: ApiClient, name: string, address: string): Promise<void> {
  const node = { apiVersion: "v1", kind: "Node", metadata: { name } };
  await admin.apply(node);
  const addresses = [{ type: "InternalIP", address }];
  await admin.patch(node, { status: { addresses } }, "status");
}

async function addService(
  admin: ApiClient,
  name: string,
  spec: object,
  addresses: readonly string[],
): Promise<void> {
  await admin.apply({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "shop", name },
    spec: { ports: [PORT], ...spec },
  });
  await addEndpoints(admin, name, addresses);
}

async function addEndpoints(
  admin: ApiClient,
  name: string,
  addresses: readonly string[],
): Promise<void> {
  const ready = addresses.map((one) => ({ addresses: [one], conditions: { ready: true } }));
  await admin.apply(serviceSlice(`shop/${name}`, ready));
}
