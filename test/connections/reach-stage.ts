import { join } from "node:path";
import type { Family } from "../../api/address.ts";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import type { Process } from "../lab/process.ts";
import { request, startServer } from "../lab/programs.ts";
import { SLOWNESS } from "../lab/slowness.ts";
import { AgentProcess, eventually, LabNode } from "../stages/agent-process.ts";
import { type Attempt, now, parseAttempt } from "./connections.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
/** UDP has no verdict of its own: it follows TCP on the same address. */
const DNS = { name: "dns", port: 53, protocol: "UDP" };
/** The server's port, of both protocols. */
const TARGET = 8080;
const REGIONS: Readonly<Record<string, string>> = { c1: "eu-west", c2: "eu-west", c3: "us-east" };
const RANGES = "241.0.0.0/8,fd00:241::/108";
/** Milliseconds that a client waits for a connection. */
const PATIENCE = 8_000 * SLOWNESS;
/** Connections a second of a client: several clients call at once. */
const RATE = 25 / SLOWNESS;
const STREAM = join(import.meta.dirname, "../conntrack/client.ts");
/** Connections in a row that must come to a place. */
const SETTLED = 20;

/** Milliseconds for an answer over UDP, which nothing repeats. */
const DATAGRAM_PATIENCE = 1_000 * SLOWNESS;

/** Where a Service has a pod: cluster and node, such as `c2/n1`; `c2/n1/2` for the second pod on this node. */
export type Places = readonly string[];

/** Annotations of imports, by name of the Service. */
export type Annotations = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What an agent runs with, and what its clients and endpoints have. */
export interface Setting {
  readonly backend: TestedBackend;
  readonly family: Family;
}

/** Clients of a node of c1 that call `web` and `cart`, in networks that do not admit or route everything. */
export class ReachStage extends LabNode {
  readonly #family: Family;
  readonly #services: Readonly<Record<string, Places>>;
  readonly #annotations: Annotations;
  readonly agent: AgentProcess;
  readonly #attempts = new Map<string, Attempt[]>();
  readonly #clients: Process[] = [];
  /** Clusters that are out of rotation. */
  readonly #retired = new Set<string>();
  #broken = 0;

  private constructor(
    lab: Lab,
    { backend, family }: Setting,
    services: Readonly<Record<string, Places>>,
    annotations: Annotations,
  ) {
    super(lab);
    this.#family = family;
    this.#services = services;
    this.#annotations = annotations;
    this.#write();
    const place = ["--cluster-id", "c1", "--region", "eu-west", "--clusterset-cidr", RANGES];
    this.agent = new AgentProcess(this.node, this.manifests.path, [
      ...place,
      ...["--node-name", "n1"],
      ...backend.flags,
    ]);
  }

  static async create(
    setting: Setting,
    services: Readonly<Record<string, Places>>,
    annotations: Annotations = {},
  ): Promise<ReachStage> {
    const pods = (node: string) =>
      Object.entries(services).flatMap(([name, places]) =>
        places.filter((place) => nodeOf(place) === node).map((place) => podOf(place, name)),
      );
    const lab = await Lab.create({
      clusters: Object.keys(REGIONS).map((id) => ({
        id,
        nodes: ["n1", "n2"].map((name) => {
          const clients = id === "c1" && name === "n1" ? ["a", "b"] : [];
          const all = [...pods(`${id}/${name}`), ...clients];
          return { name, pods: Object.fromEntries(all.map((pod) => [pod, []])) };
        }),
      })),
    });
    const stage = new ReachStage(lab, setting, services, annotations);
    const servers = Object.entries(services).flatMap(([name, places]) =>
      places.map((place) =>
        startServer(stage.#pod(place, name), "--name", place, "--udp", `${TARGET}`),
      ),
    );
    await Promise.all(servers);
    await stage.agent.start();
    return stage;
  }

  #write(): void {
    for (const [i, [name, places]] of Object.entries(this.#services).entries()) {
      const key = `shop/${name}` as const;
      const { metadata, ...rest } = importObject(key, [this.#vipOf(i)], [HTTP, DNS]) as {
        metadata: object;
      };
      const slices = [...Map.groupBy(places, clusterOf)].map(([cluster, own]) =>
        sliceObject(
          `${name}-${cluster}`,
          key,
          { cluster, region: REGIONS[cluster] ?? "" },
          [HTTP, DNS].map((port) => ({ ...port, port: TARGET })),
          own.map((place) => ({
            addresses: [this.#pod(place, name).address(this.#family)],
            nodeName: place.split("/")[1],
            conditions: { ready: !this.#retired.has(cluster), serving: true },
          })),
        ),
      );
      const annotations = this.#annotations[name] ?? {};
      this.manifests.write(name, { ...rest, metadata: { ...metadata, annotations } }, ...slices);
    }
  }

  /** A client connects to a service until `finish`. */
  call(client: string, service: number, protocol: "tcp" | "udp" = "tcp"): void {
    const attempts: Attempt[] = [];
    this.#attempts.set(`${client} ${service}`, attempts);
    const [{ port }, patience] = protocol === "tcp" ? [HTTP, PATIENCE] : [DNS, DATAGRAM_PATIENCE];
    const limits = ["--rate", `${RATE}`, "--for", "600", "--timeout", `${patience}`];
    const process = this.pod(client).spawn(
      request(...limits, `${protocol}://${this.#hostOf(service)}:${port}`),
    );
    process.onLine((line) => {
      const attempt = parseAttempt(line);
      if (attempt !== undefined) attempts.push(attempt);
    });
    this.#clients.push(process);
  }

  /** Waits until connections come to these places only, and to each of them. */
  async come(client: string, service: number, ...places: Places): Promise<void> {
    const all = this.#attempts.get(`${client} ${service}`) ?? [];
    const from = all.length;
    await eventually(async () => {
      const latest = all.slice(from).slice(-SETTLED);
      const answers = new Set(latest.map(({ answer, error }) => answer ?? error ?? ""));
      if (latest.length < SETTLED || places.some((one) => !answers.has(one)))
        throw new Error(`connections come to ${[...answers].join(" ")}`);
      if (answers.size > places.length)
        throw new Error(`connections come to ${[...answers].join(" ")}`);
    }, 60_000 * SLOWNESS);
  }

  /** A client opens a connection to a pod of a cluster, and sends requests over it until that ends. Returns the client. */
  async stay(client: string, service: number, cluster: string): Promise<Process> {
    const vip = this.#vipOf(service);
    for (;;) {
      const argv = [process.execPath, STREAM, "tcp", vip, `${HTTP.port}`];
      const stream = this.pod(client).spawn(argv);
      const place = await stream.line(/^c\d\//, 60_000);
      if (clusterOf(place) === cluster) return stream;
      await stream.stop();
    }
  }

  /** The address of a client or of a Service's pod, in the family of this stage. */
  addressOf(place: string, pod: string): string {
    return this.#pod(place, pod).address(this.#family);
  }

  /** A cluster's nodes drop what comes from this address, or from anywhere, to their pods, or to one of them; or reject it. */
  async drop(
    cluster: string,
    { from, to, by = ["-j", "DROP"] }: { from?: string; to?: string; by?: readonly string[] },
  ): Promise<void> {
    const isIPv6 = this.#family === "IPv6";
    const [, id] = cluster;
    const rule = [
      ...(from === undefined ? [] : ["-s", from]),
      ...["-d", to ?? (isIPv6 ? `fd00:10:${id}::/48` : `10.${id}.0.0/16`)],
      ...by,
    ];
    for (const node of ["n1", "n2"]) await this.#filter(`${cluster}/${node}`, rule);
  }

  /** A node dies: it forwards nothing to its pods any more. */
  async killNode(node: string): Promise<void> {
    await this.#filter(node, ["-j", "DROP"]);
  }

  /** A cluster's Lease has expired: its endpoints only serve. */
  retire(cluster: string): void {
    this.#retired.add(cluster);
    this.#write();
  }

  /** The address from which the node connects to other clusters. */
  async nodeAddress(): Promise<string> {
    const to = this.#family === "IPv6" ? "fd00:10:2::11" : "10.2.0.11";
    const route = await this.node.exec(["ip", "-o", "route", "get", to]);
    return /src (\S+)/.exec(route)?.[1] ?? "";
  }

  /** From now on, connections count that fail. */
  broken(): void {
    this.#broken = now();
  }

  /** The verdicts that the kernel keeps. */
  verdicts(): Promise<string> {
    const table = this.#family === "IPv6" ? "ip6" : "ip";
    const set = ["nft", "list", "set", table, "clusterset-health", "silent"];
    return this.node.exec(set);
  }

  /** Stops the clients, and returns the connections of one that nobody answered; without those that a server had accepted before. */
  async finish(client: string, service: number): Promise<Attempt[]> {
    await Promise.all(this.#clients.splice(0).map((one) => one.stop()));
    const all = this.#attempts.get(`${client} ${service}`) ?? [];
    return all.filter(({ begun, error }) => error !== undefined && begun > this.#broken);
  }

  async #filter(place: string, rule: readonly string[]): Promise<void> {
    const [cluster = "", node = ""] = place.split("/");
    const program = this.#family === "IPv6" ? "ip6tables" : "iptables";
    await this.lab.node(cluster, node).exec([program, "-I", "FORWARD", ...rule]);
  }

  #hostOf(service: number): string {
    const vip = this.#vipOf(service);
    return this.#family === "IPv6" ? `[${vip}]` : vip;
  }

  #vipOf(service: number): string {
    return this.#family === "IPv6" ? `fd00:241::${service + 10}` : `241.0.0.${service + 10}`;
  }

  #pod(place: string, name: string) {
    const [cluster = "", node = ""] = place.split("/");
    return this.lab.pod(cluster, node, podOf(place, name));
  }
}

/** The node of a place: `c2/n1` for `c2/n1/2`. */
function nodeOf(place: string): string {
  return place.split("/").slice(0, 2).join("/");
}

/** The name of a Service's pod at a place. */
function podOf(place: string, service: string): string {
  const [, , number = ""] = place.split("/");
  return `${service}${number}`;
}

function clusterOf(place: string): string {
  return place.split("/")[0] ?? "";
}
