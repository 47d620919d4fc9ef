import assert from "node:assert/strict";
import { Resolver } from "node:dns/promises";
import { writeFileSync } from "node:fs";
import { fieldAt } from "../../api/parse/fields.ts";
import { withNames } from "../../cli/install/dns.ts";
import { DNS_OWN } from "../../cli/install/manifests.ts";
import type { Process } from "../lab/process.ts";
import { eventually } from "../stages/agent-process.ts";
import { kubernetesCommand } from "./commands.ts";
import type { ControlPlane } from "./control-plane.ts";
import { loopback, type Place } from "./place.ts";
import { mountedKubeconfig } from "./service-account.ts";

/** Longer than any TTL here. */
const PATIENCE_MS = 60_000;

/** The part of kubeadm's Corefile that serves the cluster's names, without its cache. */
const COREFILE = `.:53 {
    errors
    kubernetes cluster.local {
        ttl 30
    }
}
`;

/** The real CoreDNS of a control plane, with the zone that `join` adds. */
export class CoreDns implements AsyncDisposable {
  readonly #server: Process;
  readonly #resolver = new Resolver({ timeout: 1000, tries: 2 });

  private constructor(server: Process, { address, port }: Place) {
    this.#server = server;
    this.#resolver.setServers([`${address}:${port}`]);
  }

  /** Starts it; `blocks`: what a user adds to the Corefile. Port 53 is another one here. */
  static start(plane: ControlPlane, blocks = ""): Promise<CoreDns> {
    const kubeconfig = plane.kubeconfig({ user: "admin" });
    return CoreDns.#run(plane, "Corefile", `${withNames(COREFILE)}${blocks}`, kubeconfig);
  }

  /** Applies deploy/coredns/own, and starts it with its Corefile and its service account, without the ports of its pages. */
  static async startOwn(plane: ControlPlane): Promise<CoreDns> {
    const rights = DNS_OWN.filter(({ kind }) => /ServiceAccount|ClusterRole/.test(kind));
    for (const object of rights) await plane.admin.apply(object);
    const config = DNS_OWN.find(({ kind }) => kind === "ConfigMap");
    const corefile = String(fieldAt(config, "data", "Corefile"));
    const kubeconfig = await mountedKubeconfig(plane, "clusterset-proxy/clusterset-dns");
    const zone = corefile
      .replace(/^ *health \{[^}]*\}\n/m, "")
      .replaceAll(/^ *(ready|prometheus.*)\n/gm, "");
    return CoreDns.#run(plane, "Corefile.own", zone, kubeconfig);
  }

  static async #run(
    plane: ControlPlane,
    name: string,
    text: string,
    kubeconfig: string,
  ): Promise<CoreDns> {
    const place = await loopback();
    const { address, port } = place;
    const corefile = text
      .replaceAll(/:(53|1053) \{$/gm, `:${port} {\n    bind ${address}`)
      .replaceAll(/^( *kubernetes .* \{)$/gm, `$1\n        kubeconfig ${kubeconfig}`)
      .replaceAll(/^( *forward \. 127\.0\.0\.1)$/gm, `$1:${port}`);
    const file = `${plane.directory}/${name}`;
    writeFileSync(file, corefile);
    return new CoreDns(place.spawn([kubernetesCommand("coredns"), "-conf", file]), place);
  }

  /** The IPv4 addresses of a name, now. Throws if it does not exist. */
  addressesOf(name: string): Promise<string[]> {
    return this.#resolver.resolve4(name);
  }

  /** Waits until a name has these IPv4 addresses. The resolver ignores answers that are about another name. */
  async untilAnswered(name: string, addresses: readonly string[]): Promise<void> {
    const isSo = async () => assert.deepEqual(await this.addressesOf(name), addresses);
    await eventually(isSo, PATIENCE_MS);
  }

  /** The fault of a name without an address, such as ESERVFAIL. */
  async faultOf(name: string): Promise<string> {
    return this.#resolver.resolve4(name).then(String, ({ code }: { code: string }) => code);
  }

  /** Waits until a name does not exist. */
  async untilUnknown(name: string): Promise<void> {
    const isUnknown = () => assert.rejects(this.addressesOf(name), { code: "ENOTFOUND" });
    await eventually(isUnknown, PATIENCE_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
  }
}
