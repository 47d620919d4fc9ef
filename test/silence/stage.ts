import assert from "node:assert/strict";
import { FAMILIES, type Family } from "../../api/address.ts";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { BACKEND } from "../backends.ts";
import { type Attempt, now } from "../connections/attempt.ts";
import { Connections } from "../connections/connections.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { cutOff, reconnect } from "../lab/outage.ts";
import { serve } from "../lab/programs.ts";
import { SLOWNESS } from "../lab/slowness.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
const VIPS = { IPv4: "241.0.0.10", IPv6: "fd00:241::10" } as const;
/** The clusters that serve, nearest first, each with two nodes and a pod on each. */
const SERVING = { c2: "eu-west", c3: "us-east" } as const;
const NODES = ["n1", "n2"] as const;
/** Milliseconds that a client waits for a connection: no such client loses one (docs/guides/connections.md), however busy the node is. */
const PATIENCE = 8_000 * SLOWNESS;
/** Connections a second, of each family. */
const RATE = 100 / SLOWNESS;

/** A node of c1 with the agent and clients that never stop connecting, and two other clusters, whose power a test cuts. */
export class SilenceStage implements AsyncDisposable {
  readonly lab: Lab;
  readonly agent: AgentProcess;
  #connections: readonly Connections[] = [];
  /** When a test cut the power. */
  #cut = 0;

  private constructor(lab: Lab, backend: TestedBackend) {
    this.lab = lab;
    const manifests = new ManifestDirectory(lab, "manifests");
    const at = (cluster: string, family: Family) =>
      NODES.map((node) => lab.pod(cluster, node, "web").address(family));
    const slices = Object.entries(SERVING).flatMap(([cluster, region]) =>
      FAMILIES.map((family) => {
        const name = `web-${cluster}-${family.toLowerCase()}`;
        const origin = { cluster, region };
        return sliceObject(
          name,
          "shop/web",
          origin,
          [{ ...HTTP, port: 8080 }],
          at(cluster, family),
        );
      }),
    );
    manifests.write("web", importObject("shop/web", Object.values(VIPS), [HTTP]), ...slices);
    const ranges = "241.0.0.0/8,fd00:241::/108";
    const place = ["--cluster-id", "c1", "--region", "eu-west", "--clusterset-cidr", ranges];
    this.agent = new AgentProcess(this.node, manifests.path, [...place, ...backend.flags]);
  }

  static async create(backend: TestedBackend = BACKEND): Promise<SilenceStage> {
    const lab = await Lab.create({
      clusters: [
        { id: "c1", nodes: [{ name: "n1", pods: { client: [] } }] },
        ...Object.keys(SERVING).map((id) => ({
          id,
          nodes: NODES.map((name) => ({ name, pods: { web: [] } })),
        })),
      ],
    });
    const stage = new SilenceStage(lab, backend);
    for (const cluster of Object.keys(SERVING)) {
      for (const node of NODES) {
        const server = lab.pod(cluster, node, "web").spawn(serve("--name", `${cluster}/${node}`));
        await server.line(/serving/, 60_000);
      }
    }
    return stage;
  }

  get node(): Namespace {
    return this.lab.node("c1", "n1");
  }

  /** Clients of both families begin to connect, and connect until `finish`. */
  call(): void {
    const pace = { rate: RATE, seconds: 600, timeout: PATIENCE };
    const client = this.lab.pod("c1", "n1", "client");
    this.#connections = [VIPS.IPv4, `[${VIPS.IPv6}]`].map(
      (vip) => new Connections(client, vip, pace),
    );
  }

  /** Returns the connections of the clients that nobody answered, without those that a server had accepted when its power was cut. */
  async finish(): Promise<Attempt[]> {
    await Promise.all(this.#connections.map((one) => one.finish()));
    const attempts = this.#connections.flatMap((one) => one.attempts);
    return attempts.filter(({ begun, error }) => error !== undefined && begun > this.#cut);
  }

  /** Waits until the latest connections of both families have come to a cluster or a server only, such as `c3` or `c2/n1`. */
  async come(place: string): Promise<void> {
    const settled = (one: Connections) =>
      one.settled(place, one.attempts.length, () => this.agent.log, 60_000 * SLOWNESS);
    await Promise.all(this.#connections.map(settled));
  }

  /** Waits until probes of both families were answered: an agent that has just started does not know yet that they work. */
  async calibrated(): Promise<void> {
    await eventually(async () => {
      const metrics = await this.agent.page("/metrics");
      assert.match(metrics, /health_probes_total\{result="accepted"\} ([2-9]|\d\d)/);
    }, 60_000 * SLOWNESS);
  }

  /** Everything in a cluster ends at once, without a packet. */
  async powerOff(cluster: string): Promise<void> {
    await cutOff(this.lab, cluster);
    this.#cut = now();
  }

  powerOn(cluster: string): Promise<void> {
    return reconnect(this.lab, cluster);
  }

  /** A node drops all that it should forward to its pods. */
  async mute(cluster: string, node: string): Promise<void> {
    for (const iptables of ["iptables", "ip6tables"]) {
      await this.lab.node(cluster, node).exec([iptables, "-I", "FORWARD", "-j", "DROP"]);
    }
    this.#cut = now();
  }

  /** What the agent holds for silent. */
  async silent(): Promise<string> {
    return (
      await Promise.all(
        ["ip", "ip6"].map((family) =>
          this.node.exec(["nft", "list", "set", family, "clusterset-health", "silent"]),
        ),
      )
    ).join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.remove();
  }
}
