import { FAMILIES, type Family } from "../../api/address.ts";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { importObject, manifest, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import { request, startServer } from "../lab/programs.ts";
import { AGENT, AgentProcess, LabNode } from "./agent-process.ts";

const PORTS = [
  { name: "tcp", protocol: "TCP", port: 80 },
  { name: "udp", protocol: "UDP", port: 53 },
];
const TARGETS = PORTS.map((port) => ({ ...port, port: port.protocol === "TCP" ? 8080 : 5353 }));

/** The clusters, each with a service of its own, whose VIPs end with this number, and a pod that serves it. */
const CLUSTERS = { c1: "eu-west", c2: "eu-west", c3: "us-east", c4: "us-east" } as const;
type Cluster = keyof typeof CLUSTERS;

/** Ranges that are declared at first: c4 has none. */
export const DECLARED = {
  c2: "10.2.0.0/16,fd00:10:2::/48",
  c3: "10.3.0.0/16,fd00:10:3::/48",
} as const;

/** A node of c1 with the agent and a client, and a service in each cluster. */
export class TrafficStage extends LabNode {
  readonly agent: AgentProcess;

  private constructor(lab: Lab, backend: TestedBackend, program: readonly string[]) {
    super(lab);
    for (const [cluster, region] of Object.entries(CLUSTERS)) {
      const n = cluster.slice(1);
      const key = `shop/${cluster}` as const;
      const slices = FAMILIES.map((family) => {
        const address = lab.pod(cluster, "n1", "web").address(family);
        const name = `${cluster}-${family.toLowerCase()}`;
        return sliceObject(name, key, { cluster, region }, TARGETS, [address]);
      });
      const vips = [`241.0.0.${n}`, `fd00:241::${n}`];
      this.manifests.write(cluster, importObject(key, vips, PORTS), ...slices);
    }
    this.declare(DECLARED);
    const ranges = "241.0.0.0/8,fd00:241::/108";
    const flags = ["--cluster-id", "c1", "--region", "eu-west", "--clusterset-cidr", ranges];
    const pods = ["--pod-cidrs", "10.1.0.0/16,fd00:10:1::/48"];
    const all = [...flags, ...pods, ...backend.flags];
    this.agent = new AgentProcess(this.node, this.manifests.path, all, program);
  }

  /** `through`: the command that starts the agent, by the lab. */
  static async create(
    backend: TestedBackend,
    through: (lab: Lab) => readonly string[] = () => [AGENT],
  ): Promise<TrafficStage> {
    const clusters = Object.keys(CLUSTERS).map((id) => {
      const pods = id === "c1" ? { client: [], web: [] } : { web: [] };
      return { id, nodes: [{ name: "n1", pods }] };
    });
    const lab = await Lab.create({ clusters });
    for (const id of Object.keys(CLUSTERS)) {
      await startServer(lab.pod(id, "n1", "web"), "--name", id, "--udp", "5353");
    }
    return new TrafficStage(lab, backend, through(lab));
  }

  /** Declares the ranges of these clusters, and of no others. */
  declare(ranges: Readonly<Record<string, string>>): void {
    const properties = Object.entries(ranges).map(([cluster, value]) => ({
      ...manifest("ClusterProperty", `${cluster}.endpoint-cidrs.clusterset-proxy.io`),
      spec: { value },
    }));
    this.manifests.write("properties", ...properties);
  }

  /** So many connections of each protocol and family, one after the other, to the service of a cluster. Throws if one is not answered. */
  async connect(cluster: Cluster, count: number): Promise<void> {
    const n = cluster.slice(1);
    for (const vip of [`241.0.0.${n}`, `[fd00:241::${n}]`]) {
      for (const target of [`tcp://${vip}:80`, `udp://${vip}:53`])
        await this.pod("client").exec(request("--count", `${count}`, target));
    }
  }

  /** The connections of each family by cluster and tier, such as `c2 regional 8`. */
  async counted(): Promise<Record<string, string[]>> {
    const page = await this.agent.page("/metrics");
    const lines =
      /^clusterset_agent_connections_total\{family="(\w+)",member="(\w+)",tier="(\w+)"\} (\d+)$/gm;
    const found = [...page.matchAll(lines)].map(([, family, ...words]) => [
      family,
      words.join(" "),
    ]);
    const by = (of: Family) =>
      found.flatMap(([family, text = ""]) => (family === of ? [text] : []));
    return Object.fromEntries(FAMILIES.map((family) => [family, by(family).sort()]));
  }
}
