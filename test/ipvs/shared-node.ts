import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { objectKey } from "../../api/names.ts";
import {
  encodeFailoverSlice,
  failoverSlice,
  READY,
  SERVING_TERMINATING,
} from "../../controller/failover/failover-slice.ts";
import type { SliceFact } from "../../controller/model/facts.ts";
import { KubeProxy } from "../coexistence/kube-proxy.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { Peer } from "../packets/peers.ts";
import { AgentProcess, ManifestDirectory } from "../stages/agent-process.ts";

/** Where the Service `shop/web` answers, and on every node where `shop/door` does. */
export const CLUSTER_IP = "10.96.0.50";
export const NODE_PORT = 30080;
/** Where the import `shop/web` answers. */
export const VIP = "241.0.1.7";
export const RANGE = "241.0.0.0/8";
const PORT = 6443;
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const TARGET = { ...HTTP, port: 8080 };

/** A node with a real kube-proxy in ipvs mode, and our agent: `theirs` is behind its Services, `ours` behind the import. */
export class SharedNode implements AsyncDisposable {
  readonly lab: Lab;
  readonly proxy: KubeProxy;
  readonly agent: AgentProcess;
  /** One that takes an operator's word for it that kube-proxy leaves our range alone. */
  readonly trusting: AgentProcess;
  /** One with nftables, which has no virtual servers that kube-proxy could delete. */
  readonly nftables: AgentProcess;
  readonly client: Peer;
  readonly #objects: string;
  readonly #manifests: ManifestDirectory;

  private constructor(lab: Lab, client: Peer, objects: string) {
    this.lab = lab;
    this.client = client;
    this.#objects = objects;
    this.#manifests = new ManifestDirectory(lab, "manifests");
    const kubeconfig = join(lab.directory, "kubeconfig");
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(`http://127.0.0.1:${PORT}`)));
    // A pass is made of sixty programs, each of which is slow to start here: there is one when a Service changes.
    const pace = { syncPeriod: "300s", minSyncPeriod: "100ms" };
    this.proxy = new KubeProxy(lab, this.node, "ipvs", "n1", kubeconfig, pace);
    const agent = (...flags: readonly string[]) =>
      new AgentProcess(this.node, this.#manifests.path, [
        ...["--cluster-id", "c1", "--clusterset-cidr", RANGE, "--backend", ...flags],
      ]);
    this.agent = agent("ipvs");
    this.trusting = agent("ipvs", "--kube-proxy-exclude-cidrs", RANGE);
    this.nftables = agent("nftables");
  }

  static async create(): Promise<SharedNode> {
    const lab = await Lab.oneNode({ theirs: [], ours: [], other: [], client: [] });
    const objects = join(lab.directory, "objects");
    mkdirSync(objects);
    const pod = (name: string) => lab.pod("c1", "n1", name);
    const http = [{ protocol: "tcp", port: 8080 }] as const;
    writeObjects(objects, lab, [pod("theirs")]);
    const program = [process.execPath, `${import.meta.dirname}/object-server.ts`];
    const [client] = await Promise.all([
      Peer.start(lab, pod("client"), []),
      Peer.start(lab, pod("theirs"), http),
      Peer.start(lab, pod("ours"), http),
      Peer.start(lab, pod("other"), http),
      lab
        .node("c1", "n1")
        .spawn([...program, join(objects, "list"), `${PORT}`])
        .line(/ready/, 60_000),
    ]);
    const shared = new SharedNode(lab, client, objects);
    shared.import(["ours"]);
    return shared;
  }

  get node(): Namespace {
    return this.lab.node("c1", "n1");
  }

  /** Writes the import, with these pods as endpoints. */
  import(pods: readonly string[]): void {
    const addresses = pods.map((name) => this.#pod(name).address());
    const slice = sliceObject("web-c1", "shop/web", { cluster: "c1" }, [TARGET], addresses);
    this.#manifests.write("web", importObject("shop/web", [VIP], [HTTP]), slice);
  }

  /** Writes the Services, with these pods as endpoints. `remote`: those that a failover slice lists. `terminating`: these pods end. */
  serve(pods: readonly string[], remote: readonly string[] = [], terminating = false): void {
    const all = (names: readonly string[]) => names.map((name) => this.#pod(name));
    writeObjects(this.#objects, this.lab, all(pods), all(remote), terminating);
  }

  /** The result of a connection from the client pod: the name of the responding pod, or the error. */
  async call(address: string, port = 80): Promise<string> {
    const [result] = await this.client.connect({ protocol: "tcp", address, port }, 1);
    if (result === undefined) return "nothing";
    return "error" in result ? result.error : (/[a-z]+$/.exec(result.name)?.[0] ?? result.name);
  }

  /** The pods that new connections to this address are forwarded to, in order. */
  async takers(address: string, port = 80): Promise<string[]> {
    const servers = await this.node.exec(["ipvsadm", "-Sn"]);
    const line = new RegExp(
      `^-a -t ${address.replaceAll(".", "\\.")}:${port} -r (\\S+):8080 -m -w 1$`,
      "gm",
    );
    const addresses = [...servers.matchAll(line)].map(([, found]) => found);
    const names = ["other", "ours", "theirs"] as const;
    return names.filter((name) => addresses.includes(this.#pod(name).address()));
  }

  /** What is kube-proxy's, but for the virtual servers that it makes on each address of the node, our VIPs included. */
  async its(): Promise<string> {
    const lines = (await this.proxy.rules()).split("\n");
    // A server of weight 0 is one that it drains; it deletes it some time later.
    const stays = (line: string) =>
      !line.includes(` ${VIP}:${NODE_PORT} `) && !line.endsWith(" -w 0");
    return lines.filter(stays).join("\n");
  }

  /** Our own virtual servers on the import's address. */
  async ours(): Promise<string> {
    const lines = (await this.node.exec(["ipvsadm", "-Sn"])).split("\n");
    return lines.filter((line) => line.includes(` ${VIP}:80 `)).join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.remove();
  }

  #pod(name: string): Namespace {
    return this.lab.pod("c1", "n1", name);
  }
}

function kubeconfigOf(server: string): object {
  return {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "here" },
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
  };
}

/**
 * A Node, a Service with a ClusterIP and one with a NodePort, both with these pods behind them, and with those of another cluster as the
 * controller lists them for failover. `terminating`: the pods end.
 */
function writeObjects(
  directory: string,
  lab: Lab,
  pods: readonly Namespace[],
  remote: readonly Namespace[] = [],
  terminating = false,
): void {
  const address = lab.node("c1", "n1").address();
  const node = {
    ...{ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } },
    status: { addresses: [{ type: "InternalIP", address }] },
  };
  const ports = [{ ...HTTP, targetPort: 8080 }];
  const services = [
    service("web", { type: "ClusterIP", ports }, CLUSTER_IP),
    service(
      "door",
      { type: "NodePort", ports: ports.map((port) => ({ ...port, nodePort: NODE_PORT })) },
      "10.96.0.51",
    ),
  ];
  const slices = ["web", "door"].map((name) => ({
    ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType: "IPv4" },
    metadata: { namespace: "shop", name, labels: { "kubernetes.io/service-name": name } },
    ports: [TARGET],
    endpoints: pods.map((pod) => ({
      addresses: [pod.address()],
      conditions: { ready: !terminating, serving: true, terminating },
    })),
  }));
  const failover =
    remote.length === 0 ? [] : ["web", "door"].map((name) => failoverOf(name, remote, terminating));
  const draft = join(directory, "draft");
  writeFileSync(draft, JSON.stringify({ items: [node, ...services, ...slices, ...failover] }));
  renameSync(draft, join(directory, "list"));
}

function failoverOf(name: string, pods: readonly Namespace[], isFirst: boolean): object {
  const slice: SliceFact = {
    key: objectKey("registry", `${name}.shop.1`),
    service: objectKey("shop", name),
    family: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    endpoints: pods.map((pod) => {
      return { address: pod.address(), ready: true, serving: true, terminating: false };
    }),
  };
  const listed = failoverSlice(slice.service, { cluster: "c2", ready: true, slice });
  return encodeFailoverSlice(
    listed,
    { key: slice.service, uid: "u" },
    isFirst ? READY : SERVING_TERMINATING,
  );
}

function service(name: string, spec: object, clusterIP: string): object {
  const policies = { internalTrafficPolicy: "Cluster", externalTrafficPolicy: "Cluster" };
  const families = { ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" };
  const addresses = { clusterIP, clusterIPs: [clusterIP], sessionAffinity: "None" };
  return {
    ...{ apiVersion: "v1", kind: "Service", metadata: { namespace: "shop", name } },
    spec: { ...spec, ...policies, ...families, ...addresses },
  };
}
