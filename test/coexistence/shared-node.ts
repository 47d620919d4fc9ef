import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { call } from "../connections/connections.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import type { Namespace } from "../lab/namespace.ts";
import { request } from "../lab/programs.ts";
import { AgentProcess, ManifestDirectory } from "../stages/agent-process.ts";
import type { Cluster, Server } from "./cluster.ts";
import { KubeProxy, type Mode } from "./kube-proxy.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));
/** Where the import `shop/web` answers. */
export const VIP = "241.0.1.7";
const HTTP = { name: "http", port: 80, protocol: "TCP" };

/** The flavour of iptables that the agent chooses beside a kube-proxy in this mode. */
export const flavourBeside = (mode: Mode) => (mode === "iptables-legacy" ? "legacy" : "nft");

/** A node of a cluster with a kube-proxy in some mode, and with an agent for each backend. Its name is the mode's. */
export class SharedNode {
  readonly node: Namespace;
  /** A pod on it. */
  readonly client: Namespace;
  readonly proxy: KubeProxy;
  readonly #cluster: Cluster;
  readonly #manifests: ManifestDirectory;
  #backend: TestedBackend | undefined;
  #agent: AgentProcess | undefined;

  constructor(cluster: Cluster, mode: Mode) {
    const { lab, plane } = cluster;
    this.#cluster = cluster;
    this.node = cluster.node(mode);
    this.client = cluster.client(mode);
    const kubeconfig = plane.kubeconfig({ user: "admin" });
    this.proxy = new KubeProxy(lab, this.node, mode, mode, kubeconfig);
    this.#manifests = new ManifestDirectory(lab, `manifests-${mode}`);
  }

  /** Has an agent with this backend from now on; the one before must not run. It chooses the flavour of iptables itself. */
  use(backend: TestedBackend): void {
    this.#backend = backend;
    const flags = ["--cluster-id", "c1", "--region", "eu-west", "--backend", backend.name];
    this.#agent = new AgentProcess(this.node, this.#manifests.path, flags);
  }

  get agent(): AgentProcess {
    if (this.#agent === undefined) throw new Error("no backend is in use");
    return this.#agent;
  }

  get backend(): TestedBackend {
    if (this.#backend === undefined) throw new Error("no backend is in use");
    return this.#backend;
  }

  /** Has the import with these servers as its endpoints. */
  import(servers: readonly Server[]): void {
    const slices = (["c1", "c2"] as const).map((origin) => {
      const here = servers.filter((name) => (name === "c") === (origin === "c2"));
      const addresses = here.map((name) => this.#cluster.server(name));
      const target = { ...HTTP, port: 8080 };
      return sliceObject(`web-${origin}`, "shop/web", { cluster: origin }, [target], addresses);
    });
    this.#manifests.write("web", importObject("shop/web", [VIP], [HTTP]), ...slices);
  }

  /** Throws unless the pod and the node itself are answered at port 80 there. */
  async answered(address: string): Promise<void> {
    const places = [this.client, this.node];
    const answers = await Promise.all(places.map((from) => call(from, address, 80, 10)));
    for (const answer of answers) assert.match(answer, /^[abc]$/);
  }

  /** The result of a connection from the pod: the responding pod, or the error. */
  async call(address: string, port = 80): Promise<string> {
    const argv = request("--timeout", "500", `tcp://${address}:${port}`);
    const { name, error } = JSON.parse((await this.client.run(argv)).stdout);
    return name ?? error;
  }

  /** Our own objects. */
  ours(): Promise<string[]> {
    return this.backend.own(this.node);
  }

  /** The addresses that new connections to the import go to. */
  takers(): Promise<string[]> {
    return this.backend.takers(this.node, "IPv4", "TCP");
  }

  /** Whose the jumps of a chain of the table nat are, in their order. */
  async jumps(chain: string): Promise<string[]> {
    const lines = await this.node.exec([
      `iptables-${flavourBeside(this.proxy.mode)}`,
      "-w",
      "-t",
      "nat",
      "-S",
      chain,
    ]);
    return [...lines.matchAll(/ -j (CSP|KUBE)-/g)].map(([, owner = ""]) => owner);
  }

  /** `clusterset-agent cleanup`. */
  async cleanup(): Promise<void> {
    await this.node.exec([PROGRAM, "cleanup"]);
  }

  /** kube-proxy's rules, once it has nothing more to do: it waits 100 ms between two passes. */
  async settled(): Promise<string> {
    for (let last = ""; ; ) {
      const now = await this.proxy.rules();
      if (now === last) return now;
      last = now;
      await sleep(700);
    }
  }

  /** Removes every rule and chain of IPv4, whosever it is; tables of nft with them, unless iptables only is in use. */
  async flush(): Promise<void> {
    const { mode } = this.proxy;
    const tool = `iptables-${flavourBeside(mode)} -w -t $table`;
    const tables = `for table in nat filter mangle; do ${tool} -F && ${tool} -X || exit 1; done`;
    const nft = "nft list tables ip | while read -r table; do nft delete $table || exit 1; done";
    if (mode !== "nftables") await this.node.exec(["sh", "-c", tables]);
    if (mode === "nftables" || this.backend.name === "nftables")
      await this.node.exec(["sh", "-c", nft]);
  }

  async stop(): Promise<void> {
    if (this.#agent?.started === true) await this.#agent.stop();
    await this.proxy.stop();
  }
}
