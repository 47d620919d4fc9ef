import type { Family } from "../../api/address.ts";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { type Attempt, now, parseAttempt } from "../connections/attempt.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import type { Process } from "../lab/process.ts";
import { request, serve } from "../lab/programs.ts";
import { SLOWNESS } from "../lab/slowness.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
const REGIONS: Readonly<Record<string, string>> = { c1: "eu-west", c2: "eu-west", c3: "us-east" };
const RANGES = "241.0.0.0/8,fd00:241::/108";
/** Milliseconds that a client waits for a connection. */
const PATIENCE = 8_000 * SLOWNESS;
/** Connections a second of a client. */
const RATE = 100 / SLOWNESS;
/** Connections in a row that must come to a place. */
const SETTLED = 40;

/** Where a Service has a pod: cluster and node, such as `c2/n1`. */
export type Places = readonly string[];

/** What an agent runs with, and what its clients and endpoints have. */
export interface Setting {
  readonly backend: TestedBackend;
  readonly family: Family;
}

/** Clients of a node of c1 that call `web` and `cart`, in networks that do not admit or route everything. */
export class ReachStage implements AsyncDisposable {
  readonly lab: Lab;
  readonly #family: Family;
  readonly agent: AgentProcess;
  readonly #attempts = new Map<string, Attempt[]>();
  readonly #clients: Process[] = [];
  #broken = 0;

  private constructor(
    lab: Lab,
    { backend, family }: Setting,
    services: Readonly<Record<string, Places>>,
    annotations: Readonly<Record<string, string>>,
  ) {
    this.lab = lab;
    this.#family = family;
    const manifests = new ManifestDirectory(lab, "manifests");
    for (const [i, [name, places]] of Object.entries(services).entries()) {
      const key = `shop/${name}` as const;
      const { metadata, ...rest } = importObject(key, [this.#vipOf(i)], [HTTP]) as {
        metadata: object;
      };
      const slices = [...Map.groupBy(places, clusterOf)].map(([cluster, own]) =>
        sliceObject(
          `${name}-${cluster}`,
          key,
          { cluster, region: REGIONS[cluster] ?? "" },
          [{ ...HTTP, port: 8080 }],
          own.map((place) => ({
            addresses: [this.#pod(place, name).address(family)],
            nodeName: place.split("/")[1],
          })),
        ),
      );
      manifests.write(name, { ...rest, metadata: { ...metadata, annotations } }, ...slices);
    }
    const place = ["--cluster-id", "c1", "--region", "eu-west", "--clusterset-cidr", RANGES];
    this.agent = new AgentProcess(lab.node("c1", "n1"), manifests.path, [
      ...place,
      ...["--node-name", "n1"],
      ...backend.flags,
    ]);
  }

  static async create(
    setting: Setting,
    services: Readonly<Record<string, Places>>,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<ReachStage> {
    const pods = (node: string) => {
      const own = Object.entries(services).filter(([, places]) => places.includes(node));
      return Object.fromEntries(own.map(([name]) => [name, []]));
    };
    const lab = await Lab.create({
      clusters: Object.keys(REGIONS).map((id) => ({
        id,
        nodes: ["n1", "n2"].map((name) => {
          const clients = id === "c1" && name === "n1" ? { a: [], b: [] } : {};
          return { name, pods: { ...pods(`${id}/${name}`), ...clients } };
        }),
      })),
    });
    const stage = new ReachStage(lab, setting, services, annotations);
    for (const [name, places] of Object.entries(services)) {
      for (const place of places) {
        const server = stage.#pod(place, name).spawn(serve("--name", place));
        await server.line(/serving/, 60_000);
      }
    }
    await stage.agent.start();
    return stage;
  }

  /** A client connects to a service until `finish`. */
  call(client: string, service: number): void {
    const attempts: Attempt[] = [];
    this.#attempts.set(`${client} ${service}`, attempts);
    const limits = ["--rate", `${RATE}`, "--for", "600", "--timeout", `${PATIENCE}`];
    const process = this.lab
      .pod("c1", "n1", client)
      .spawn(request(...limits, `tcp://${this.#hostOf(service)}:80`));
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

  /** The address of a pod, in the family of this stage. */
  addressOf(place: string, pod: string): string {
    return this.#pod(place, pod).address(this.#family);
  }

  /** A cluster's nodes drop what comes from this address, or from anywhere, to their pods, or to one of them. */
  async drop(cluster: string, { from, to }: { from?: string; to?: string }): Promise<void> {
    const isIPv6 = this.#family === "IPv6";
    const [, id] = cluster;
    const rule = [
      ...(from === undefined ? [] : ["-s", from]),
      ...["-d", to ?? (isIPv6 ? `fd00:10:${id}::/48` : `10.${id}.0.0/16`), "-j", "DROP"],
    ];
    for (const node of ["n1", "n2"])
      await this.lab
        .node(cluster, node)
        .exec([isIPv6 ? "ip6tables" : "iptables", "-I", "FORWARD", ...rule]);
  }

  /** The address from which the node connects to other clusters. */
  async nodeAddress(): Promise<string> {
    const to = this.#family === "IPv6" ? "fd00:10:2::11" : "10.2.0.11";
    const route = await this.lab.node("c1", "n1").exec(["ip", "-o", "route", "get", to]);
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
    return this.lab.node("c1", "n1").exec(set);
  }

  /** Stops the clients, and returns the connections of one that nobody answered; without those that a server had accepted before. */
  async finish(client: string, service: number): Promise<Attempt[]> {
    await Promise.all(this.#clients.splice(0).map((one) => one.stop()));
    const all = this.#attempts.get(`${client} ${service}`) ?? [];
    return all.filter(({ begun, error }) => error !== undefined && begun > this.#broken);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.remove();
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
    return this.lab.pod(cluster, node, name);
  }
}

function clusterOf(place: string): string {
  return place.split("/")[0] ?? "";
}
