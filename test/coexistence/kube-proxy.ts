import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kubernetesCommand } from "../apiserver/commands.ts";
import type { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { eventually } from "../support/agent-process.ts";

/** How it programs the node: with whose iptables, or with a table of its own. */
export type Mode = "iptables-nft" | "iptables-legacy" | "nftables";

/** The names that it looks for in $PATH; whose they are, decides the flavour. */
const TOOLS = ["iptables", "iptables-save", "iptables-restore"].flatMap((name) => [
  name,
  name.replace("ip", "ip6"),
]);

/** The real kube-proxy, as a process on a node of a lab. */
export class KubeProxy {
  readonly node: Namespace;
  readonly mode: Mode;
  readonly #config: string;
  readonly #path: string;
  #process: Process | undefined;

  /** `kubeconfig` of somebody who may list Services, EndpointSlices and Nodes; `nodeName` as its Node is called. */
  constructor(lab: Lab, node: Namespace, mode: Mode, nodeName: string, kubeconfig: string) {
    this.node = node;
    this.mode = mode;
    const directory = join(lab.directory, `kube-proxy-${nodeName}`);
    mkdirSync(directory);
    this.#config = join(directory, "config.json");
    writeFileSync(this.#config, JSON.stringify(configOf(mode, nodeName, kubeconfig)));
    this.#path = directory;
    const multi = mode === "iptables-legacy" ? "xtables-legacy-multi" : "xtables-nft-multi";
    for (const tool of TOOLS) symlinkSync(`/usr/sbin/${multi}`, join(directory, tool));
  }

  /** Starts it and waits until it says that it is well, which it does after its first pass. */
  async start(): Promise<void> {
    const env = { PATH: `${this.#path}:${process.env.PATH}` };
    const program = kubernetesCommand("kube-proxy");
    this.#process = this.node.spawn([program, "--config", this.#config], { env });
    await eventually(() => this.node.exec(["curl", "-sf", "http://127.0.0.1:10256/healthz"]));
  }

  /** What it has said. */
  get log(): string {
    return this.#process?.errors ?? "";
  }

  /** Stops it; it leaves its rules. */
  async stop(): Promise<void> {
    await this.#process?.stop();
  }

  /**
   * Everything in the kernel that is not ours, without counters. In its nftables mode with the handles, too: an
   * object that was removed and added again has another.
   */
  async rules(): Promise<string> {
    if (this.mode === "nftables") {
      const list = (family: string) =>
        this.node.exec(["nft", "-s", "-a", "list", "table", family, "kube-proxy"]);
      return `${await list("ip")}${await list("ip6")}`;
    }
    const save = (family: string) =>
      this.node.exec([`${this.mode.replace("iptables", `${family}tables`)}-save`]);
    return withoutOurs(`${await save("ip")}${await save("ip6")}`);
  }
}

/** The text of iptables-save without our lines, times and counters. */
function withoutOurs(text: string): string {
  return text
    .split("\n")
    .filter((line) => !line.startsWith("#") && !/ CSP-|^:CSP-/.test(line))
    .map((line) => line.replace(/ \[\d+:\d+\]$/, ""))
    .join("\n");
}

/**
 * Its defaults, but: it does not change what is the whole machine's (conntrack's sizes), it looks for its canary
 * every 5 s instead of 30, and waits a tenth of a second instead of one between two passes.
 */
function configOf(mode: Mode, nodeName: string, kubeconfig: string): object {
  const pace = { syncPeriod: "5s", minSyncPeriod: "100ms" };
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: mode === "nftables" ? "nftables" : "iptables",
    clientConnection: { kubeconfig },
    hostnameOverride: nodeName,
    detectLocalMode: "ClusterCIDR",
    clusterCIDR: "10.1.0.0/16",
    conntrack: {
      maxPerCore: 0,
      min: 0,
      tcpEstablishedTimeout: "0s",
      tcpCloseWaitTimeout: "0s",
    },
    iptables: { ...pace, localhostNodePorts: false },
    nftables: pace,
    oomScoreAdj: 0,
  };
}
