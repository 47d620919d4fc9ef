import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { kubeProxyConfig } from "../cluster/node-files.ts";
import type { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Exit, Process } from "../lab/process.ts";
import { eventually } from "../stages/agent-process.ts";

/** How it programs the node: with whose iptables, with a table of its own, or by IPVS (and the nft flavour of iptables). */
export type Mode = "iptables-nft" | "iptables-legacy" | "nftables" | "ipvs";

/** Its sync periods; the defaults of kube-proxy if absent. */
export interface Pace {
  readonly syncPeriod?: string;
  readonly minSyncPeriod?: string;
}

/** It looks for its canary every 2 s instead of 30, and waits a tenth of a second instead of one between two passes. */
const BRISK: Pace = { syncPeriod: "2s", minSyncPeriod: "100ms" };

/** Milliseconds that its first pass may take, in a virtual machine. */
const PATIENCE = 90_000;

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
  readonly #kubeconfig: string;
  readonly #nodeName: string;
  readonly #pace: Pace;
  readonly #argv: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  #process: Process | undefined;

  /** `kubeconfig` of a user who can list Services, EndpointSlices and Nodes; `nodeName`: the name of its Node. */
  constructor(
    lab: Lab,
    node: Namespace,
    mode: Mode,
    nodeName: string,
    kubeconfig: string,
    pace: Pace = BRISK,
  ) {
    this.node = node;
    this.mode = mode;
    this.#kubeconfig = kubeconfig;
    this.#nodeName = nodeName;
    this.#pace = pace;
    const directory = join(lab.directory, `kube-proxy-${nodeName}`);
    mkdirSync(directory);
    this.#config = join(directory, "config.json");
    this.configure([]);
    this.#argv = [kubernetesCommand("kube-proxy"), "--config", this.#config];
    this.#env = { PATH: `${directory}:${process.env.PATH}` };
    const multi = mode === "iptables-legacy" ? "xtables-legacy-multi" : "xtables-nft-multi";
    for (const tool of TOOLS) {
      // With one family it has half of the programs to start, which a virtual machine does slowly.
      const absent = mode === "ipvs" && tool.startsWith("ip6");
      symlinkSync(absent ? "/bin/false" : `/usr/sbin/${multi}`, join(directory, tool));
    }
  }

  /** Says which virtual servers it leaves alone in its ipvs mode, from its next start on. */
  configure(excludeCIDRs: readonly string[]): void {
    const mode = this.mode.replace(/-.*/, "");
    const config = kubeProxyConfig(this.#kubeconfig, this.#nodeName, mode, ["10.1.0.0/16"]);
    const pace = this.#pace;
    const modes = {
      iptables: { ...pace, localhostNodePorts: false },
      ipvs: { ...pace, excludeCIDRs },
      nftables: pace,
    };
    writeFileSync(this.#config, JSON.stringify({ ...config, ...modes }));
  }

  /** Starts it and waits until it is healthy, after its first sync. */
  async start(): Promise<void> {
    this.#process = this.node.spawn(this.#argv, { env: this.#env });
    const healthz = ["curl", "-sf", "http://127.0.0.1:10256/healthz"];
    await eventually(() => this.node.exec(healthz), PATIENCE);
    // It is healthy once it has programmed one family.
    await eventually(() => this.rules(), PATIENCE);
  }

  get exited(): Promise<Exit> {
    if (this.#process === undefined) throw new Error("kube-proxy was not started");
    return this.#process.exited;
  }

  /** What it has logged. */
  get log(): string {
    return this.#process?.errors ?? "";
  }

  /** Stops it; it leaves its rules. */
  async stop(): Promise<void> {
    await this.#process?.stop();
  }

  /** `kube-proxy --cleanup`: removes its rules. It must not run. */
  async cleanup(): Promise<void> {
    await this.node.exec([...this.#argv, "--cleanup"], { env: this.#env });
  }

  /**
   * Its rules, and whatever else is not ours in the same tables, byte for byte but for counters. In its nftables
   * mode with the handles: an object that was removed and added again has another.
   */
  async rules(): Promise<string> {
    if (this.mode === "nftables") {
      const list = (family: string) =>
        this.node.exec(["nft", "-s", "-a", "list", "table", family, "kube-proxy"]);
      return `${await list("ip")}${await list("ip6")}`;
    }
    const flavour = this.mode === "iptables-legacy" ? "legacy" : "nft";
    const save = (family: string) => this.node.exec([`${family}tables-${flavour}-save`]);
    const rules = withoutOurs(`${await save("ip")}${await save("ip6")}`);
    return this.mode === "ipvs" ? `${rules}\n${await this.#virtual()}` : rules;
  }

  /** Its objects besides rules in ipvs mode: virtual servers without our mark, sets, and the addresses of its device. */
  async #virtual(): Promise<string> {
    const { node } = this;
    const [servers, sets, device] = await Promise.all([
      node.exec(["ipvsadm", "-Sn"]),
      node.exec(["ipset", "save"]),
      node.exec(["ip", "-o", "address", "show", "kube-ipvs0"]),
    ]);
    return `${withoutMarked(servers)}\n${sets}\n${device}`;
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

/** The text of ipvsadm -Sn without virtual servers that carry our mark, and their destinations. */
function withoutMarked(text: string): string {
  const lines = text.split("\n");
  const marked = lines.filter((line) => / -b \S*flag-3/.test(line));
  const ours = new Set(marked.map((line) => line.split(" ").slice(1, 3).join(" ")));
  return lines.filter((line) => !ours.has(line.split(" ").slice(1, 3).join(" "))).join("\n");
}
