import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
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
/** Tries of ten seconds: 10,000 files are to be read, and as many chains to be made. */
const TRIES = 6;

/** Where a service may be. */
export type Whereabouts = "local" | "regional";

/** Two clusters of one region, a server in each, and an agent and a client on a node of the first. */
export class Stage implements AsyncDisposable {
  readonly agent: AgentProcess;
  readonly #lab: Lab;
  readonly #manifests: ManifestDirectory;
  readonly #others: readonly Service[];

  private constructor(lab: Lab, flavour: Flavour, size: Size) {
    this.#lab = lab;
    this.#others = services(size).slice(1);
    this.#manifests = new ManifestDirectory(lab, "manifests");
    this.agent = new AgentProcess(lab.node("c1", "n1"), this.#manifests.path, [
      ...["--cluster-id", "c1", "--region", "eu-west", "--node-name", "n1"],
      ...["--clusterset-cidr", "241.0.0.0/8", "--iptables-flavour", flavour],
    ]);
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
      return new Stage(lab, flavour, size);
    } catch (error) {
      await lab.remove();
      throw error;
    }
  }

  /** Gives the milliseconds until it is ready. */
  async startAgent(): Promise<number> {
    const began = performance.now();
    this.agent.launch();
    for (let tries = 1; ; tries++) {
      try {
        await this.agent.page("/readyz");
        return performance.now() - began;
      } catch (error) {
        if (tries === TRIES) throw error;
      }
    }
  }

  async stopAgent(): Promise<void> {
    await this.agent.stop();
  }

  async residentMiB(): Promise<number> {
    return (await this.agent.metric("process_resident_memory_bytes")) / 2 ** 20;
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
