import { join } from "node:path";
import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import { bundle, copyNative } from "../../scripts/build/bundle.ts";
import { Lab } from "../lab/lab.ts";
import { request, serve } from "../lab/programs.ts";
import { AgentProcess, ManifestDirectory } from "../support/agent-process.ts";
import { importObject, sliceObject } from "../support/objects.ts";
import { Client } from "./client.ts";
import { manifestsOf, type Service, type Size, services } from "./services.ts";

/** The service that moves. */
const LIVE = { key: "bench/live", vip: "241.0.1.7" } as const;
const HTTP = { name: "http", protocol: "TCP", port: 80 };
const TARGET = { ...HTTP, port: 8080 };

/** New connections a second: at 10,000 services a series must not use up the client's ports. */
const RATE = 400;
const LONGEST_RUN = 300;
/** Where a service may be. */
export type Whereabouts = "local" | "regional";

/** Two clusters of one region, a server in each, and an agent and a client on a node of the first. */
export class Stage implements AsyncDisposable {
  /** Run from its sources, as `bin/clusterset-agent` does. */
  readonly agent: AgentProcess;
  /** The same as one file without a source tree, on a node of its own: nothing of ours is in its kernel. */
  readonly bundled: AgentProcess;
  readonly #lab: Lab;
  readonly #manifests: ManifestDirectory;
  readonly #others: readonly Service[];

  private constructor(lab: Lab, flavour: Flavour, size: Size) {
    this.#lab = lab;
    this.#others = services(size).slice(1);
    this.#manifests = new ManifestDirectory(lab, "manifests");
    const flags = [
      ...["--cluster-id", "c1", "--region", "eu-west", "--node-name", "n1"],
      ...["--clusterset-cidr", "241.0.0.0/8", "--iptables-flavour", flavour],
    ];
    const program = [process.execPath, bundlePath(lab)];
    this.agent = new AgentProcess(lab.node("c1", "n1"), this.#manifests.path, flags);
    const other = lab.node("c2", "n1");
    this.bundled = new AgentProcess(other, this.#manifests.path, flags, program);
  }

  /** With the servers up, and no agent yet. */
  static async open(flavour: Flavour, size: Size): Promise<Stage> {
    const lab = await Lab.create({
      clusters: [
        { id: "c1", nodes: [{ name: "n1", pods: { client: [], web: [] } }] },
        { id: "c2", nodes: [{ name: "n1", pods: { web: [] } }] },
      ],
    });
    try {
      for (const [cluster, name] of [
        ["c1", "local"],
        ["c2", "regional"],
      ] as const) {
        await lab
          .pod(cluster, "n1", "web")
          .spawn(serve("--name", name))
          .line(/serving/);
      }
      await bundle(join(import.meta.dirname, "../../agent/main.ts"), bundlePath(lab));
      copyNative(lab.directory);
      return new Stage(lab, flavour, size);
    } catch (error) {
      await lab.remove();
      throw error;
    }
  }

  /** Writes the service that moves, and others until there are so many; a file each. */
  write(count: number): void {
    this.#manifests.write("live", importObject(LIVE.key, [LIVE.vip], [HTTP]));
    this.move("local");
    for (const [i, other] of this.#others.slice(0, count - 1).entries()) {
      this.#manifests.write(`service-${i}`, ...manifestsOf(other));
    }
  }

  /** One file, renamed into place: the local endpoint is ready, or only the regional one. */
  move(to: Whereabouts): void {
    const slices = (["c1", "c2"] as const).map((cluster) => {
      const addresses = [this.#lab.pod(cluster, "n1", "web").address()];
      const conditions = { ready: cluster === "c2" || to === "local" };
      const origin = { cluster, region: "eu-west" };
      return sliceObject(
        `live-${cluster}`,
        LIVE.key,
        origin,
        [TARGET],
        [{ addresses, conditions }],
      );
    });
    this.#manifests.write("live-slices", ...slices);
  }

  /** Starts the client; returns when it is answered locally. */
  async connect(): Promise<Client> {
    const pod = this.#lab.pod("c1", "n1", "client");
    const limits = ["--rate", String(RATE), "--for", String(LONGEST_RUN), "--timeout", "2000"];
    const client = new Client(pod.spawn(request(...limits, `tcp://${LIVE.vip}:80`)));
    await client.follow("local", () => undefined);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lab.remove();
  }
}

function bundlePath(lab: Lab): string {
  return join(lab.directory, "clusterset-agent.mjs");
}
