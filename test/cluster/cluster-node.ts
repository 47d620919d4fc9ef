import { mkdirSync, writeFileSync } from "node:fs";
import { kubernetesCommand } from "../apiserver/commands.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import type { NodePlace } from "../lab/topology.ts";
import { type ClusterControlPlane, KUBE_PROXY, nodeUser } from "./control-plane.ts";
import { Host } from "./host.ts";
import {
  cniConfig,
  containerdConfig,
  kubeletConfig,
  kubeProxyConfig,
  nodeFiles,
} from "./node-files.ts";
import { copySeed, loadImage, startContainerd } from "./seed.ts";
import { type ClusterPlan, clusterCidrs, type NodePlan } from "./spec.ts";

export interface NodeOptions {
  readonly plan: NodePlan;
  readonly cluster: ClusterPlan;
  readonly place: NodePlace;
  readonly namespace: Namespace;
  readonly group: string;
  readonly directory: string;
  /** A containerd root to begin with. */
  readonly seed: string;
}

/** As systemd does: containerd answers a moment before kubelets can use it. */
const WAIT = 'until setpriv --pdeathsig KILL -- "$@"; do sleep 1; done';

/** A Node: a host with containerd, kubelet and kube-proxy. */
export class ClusterNode {
  /** The Node's name: cluster-1-node-1. */
  readonly name: string;
  readonly host: Host;
  readonly #options: NodeOptions;
  #kubelet: Process | undefined;

  constructor(options: NodeOptions) {
    const { plan, namespace, group, directory } = options;
    this.name = plan.name;
    this.host = new Host({ namespace, group, directory, hostname: plan.name });
    this.#options = options;
  }

  /** The host with containerd, which need no API server. */
  async boot(): Promise<void> {
    const { directory } = this.#options;
    const files = nodeFiles(directory);
    mkdirSync(files.cni, { recursive: true });
    await copySeed(this.#options.seed, files.containerdRoot);
    writeFileSync(files.containerd, containerdConfig(directory));
    writeFileSync(files.cniConfig, JSON.stringify(cniConfig(this.#options.place)));
    // No other DNS server than the cluster's: none outside of the lab is reachable.
    writeFileSync(files.resolvConf, "");
    await this.#switchOn();
  }

  /** The Node before its kubelet starts: with its pod ranges, region and zone. */
  get object(): object {
    const { plan, cluster, place } = this.#options;
    const podCIDRs = place.podCidrs.map(({ text }) => text);
    const labels = {
      "kubernetes.io/hostname": this.name,
      "topology.kubernetes.io/region": cluster.region,
      "topology.kubernetes.io/zone": plan.zone,
    };
    const spec = { podCIDR: podCIDRs[0], podCIDRs };
    return { apiVersion: "v1", kind: "Node", metadata: { name: this.name, labels }, spec };
  }

  /** Joins the cluster: kubelet and kube-proxy start. */
  join(plane: ClusterControlPlane): void {
    const { directory, cluster } = this.#options;
    const files = nodeFiles(directory);
    for (const [file, user] of [
      [files.kubeletKubeconfig, nodeUser(this.name)],
      [files.kubeProxyKubeconfig, KUBE_PROXY],
    ] as const)
      writeFileSync(file, plane.inlineKubeconfig({ user }), { mode: 0o600 });
    writeFileSync(files.kubelet, JSON.stringify(kubeletConfig(directory)));
    const ranges = clusterCidrs(cluster);
    const kubeconfig = files.kubeProxyKubeconfig;
    const config = kubeProxyConfig(kubeconfig, this.name, cluster.proxy, ranges);
    writeFileSync(files.kubeProxy, JSON.stringify(config));
    this.startKubelet();
    this.startKubeProxy();
  }

  startKubelet(): void {
    const { directory, place } = this.#options;
    const files = nodeFiles(directory);
    this.#kubelet = this.host.serve("kubelet", [
      ...["sh", "-c", WAIT, "sh", kubernetesCommand("kubelet")],
      ...["--config", files.kubelet, "--kubeconfig", files.kubeletKubeconfig],
      ...["--hostname-override", this.name],
      ...["--node-ip", place.addresses.map(({ text }) => text).join(",")],
    ]);
  }

  /** Kills the kubelet. Pods run on. */
  async killKubelet(): Promise<void> {
    this.#kubelet?.signal("SIGKILL");
    await this.#kubelet?.exited;
  }

  startKubeProxy(): void {
    const { kubeProxy } = nodeFiles(this.#options.directory);
    this.host.serve("kube-proxy", [kubernetesCommand("kube-proxy"), "--config", kubeProxy]);
  }

  /** A power failure: all its processes are killed, without a packet. */
  async powerOff(): Promise<void> {
    await this.host.cutPower();
  }

  /** The power comes back: the kubelet starts every pod again. */
  async powerOn(): Promise<void> {
    await this.#switchOn();
    this.startKubelet();
    this.startKubeProxy();
  }

  /** The power goes, and comes back. */
  async restart(): Promise<void> {
    await this.powerOff();
    await this.powerOn();
  }

  /** Loads an image archive (OCI or Docker) that every node can read, from wherever the machine has it. */
  async load(archive: string): Promise<void> {
    await loadImage(this.host, archive);
  }

  /** Shows why something is not ready. */
  get lastWords(): string {
    const said = (name: string) => `--- ${this.name}: ${name}\n${this.host.lastWords(name)}`;
    return ["containerd", "kubelet", "kube-proxy"].map(said).join("\n");
  }

  async #switchOn(): Promise<void> {
    await this.host.boot();
    const { containerd } = nodeFiles(this.#options.directory);
    await startContainerd(this.host, containerd);
  }
}
