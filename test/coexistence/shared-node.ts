import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
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

/** A node of a cluster with a kube-proxy in some mode, and with our agent. Its name is the mode's. */
export class SharedNode {
  readonly node: Namespace;
  /** A pod on it. */
  readonly client: Namespace;
  readonly proxy: KubeProxy;
  readonly agent: AgentProcess;
  /** The flavour of iptables that the agent should choose. */
  readonly flavour: "nft" | "legacy";
  readonly #cluster: Cluster;
  readonly #manifests: ManifestDirectory;

  constructor(cluster: Cluster, mode: Mode) {
    const { lab, plane } = cluster;
    this.#cluster = cluster;
    this.node = cluster.node(mode);
    this.client = cluster.client(mode);
    this.flavour = mode === "iptables-legacy" ? "legacy" : "nft";
    const kubeconfig = plane.kubeconfig({ user: "admin" });
    this.proxy = new KubeProxy(lab, this.node, mode, mode, kubeconfig);
    this.#manifests = new ManifestDirectory(lab, `manifests-${mode}`);
    const flags = ["--cluster-id", "c1", "--region", "eu-west"];
    this.agent = new AgentProcess(this.node, this.#manifests.path, flags);
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
    const argv = request(`tcp://${address}:80`);
    await Promise.all([this.client.exec(argv), this.node.exec(argv)]);
  }

  /** The result of a connection from the pod: the responding pod, or the error. */
  async call(address: string, port = 80): Promise<string> {
    const argv = request("--timeout", "500", `tcp://${address}:${port}`);
    const { name, error } = JSON.parse((await this.client.run(argv)).stdout);
    return name ?? error;
  }

  /** Our own rules, jumps included. */
  async ours(): Promise<string> {
    const lines = (await this.node.exec([`iptables-${this.flavour}-save`])).split("\n");
    return lines.filter((line) => line.includes("CSP-")).join("\n");
  }

  /** Whose the jumps of a chain of the table nat are, in their order. */
  async jumps(chain: string): Promise<string[]> {
    const lines = await this.node.exec([
      `iptables-${this.flavour}`,
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

  /** Removes every rule and chain of IPv4, whosever it is; in kube-proxy's nftables mode with the tables. */
  async flush(): Promise<void> {
    const tool = `iptables-${this.flavour} -w -t $table`;
    const script =
      this.proxy.mode === "nftables"
        ? "nft list tables ip | while read -r table; do nft delete $table || exit 1; done"
        : `for table in nat filter mangle; do ${tool} -F && ${tool} -X || exit 1; done`;
    await this.node.exec(["sh", "-c", script]);
  }

  async stop(): Promise<void> {
    await this.agent.stop();
    await this.proxy.stop();
  }
}
