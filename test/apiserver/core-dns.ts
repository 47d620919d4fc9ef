import assert from "node:assert/strict";
import { Resolver } from "node:dns/promises";
import { writeFileSync } from "node:fs";
import { withNames } from "../../cli/changes/core-dns.ts";
import type { Process } from "../lab/process.ts";
import { eventually } from "../stages/agent-process.ts";
import { kubernetesCommand } from "./commands.ts";
import type { ControlPlane } from "./control-plane.ts";
import { loopback, type Place } from "./place.ts";

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
  static async start(plane: ControlPlane, blocks = ""): Promise<CoreDns> {
    const place = await loopback();
    const { address, port } = place;
    const kubeconfig = plane.kubeconfig({ user: "admin" });
    const corefile = `${withNames(COREFILE)}${blocks}`
      .replaceAll(/:53 \{$/gm, `:${port} {\n    bind ${address}`)
      .replaceAll(/^( *kubernetes .* \{)$/gm, `$1\n        kubeconfig ${kubeconfig}`)
      .replaceAll(/^( *forward \. 127\.0\.0\.1)$/gm, `$1:${port}`);
    const file = `${plane.directory}/Corefile`;
    writeFileSync(file, corefile);
    return new CoreDns(place.spawn([kubernetesCommand("coredns"), "-conf", file]), place);
  }

  /** The IPv4 addresses of a name, now. Throws if it does not exist. */
  addressesOf(name: string): Promise<string[]> {
    return this.#resolver.resolve4(name);
  }

  /** Waits until a name has these IPv4 addresses. The resolver ignores answers that are about another name. */
  async untilAnswered(name: string, addresses: readonly string[]): Promise<void> {
    await eventually(
      async () => assert.deepEqual(await this.#resolver.resolve4(name), addresses),
      PATIENCE_MS,
    );
  }

  /** Waits until a name does not exist. */
  async untilUnknown(name: string): Promise<void> {
    await eventually(
      () => assert.rejects(this.#resolver.resolve4(name), { code: "ENOTFOUND" }),
      PATIENCE_MS,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
  }
}
