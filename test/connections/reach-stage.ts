import { join } from "node:path";
import { importObject, sliceObject } from "../generators/objects.ts";
import { cutOff, reconnect } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { request } from "../lab/programs.ts";
import { SLOWNESS } from "../lab/slowness.ts";
import { sendSegment } from "../lab/tcp-segment.ts";
import { AgentProcess, eventually, type ManifestDirectory } from "../stages/agent-process.ts";
import { type Attempt, now, parseAttempt } from "./connections.ts";
import {
  HERE,
  type Places,
  REGIONS,
  type ReachNetwork,
  type Services,
  TARGET,
} from "./reach-network.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
/** UDP has no verdict of its own: it follows TCP on the same address. */
const DNS = { name: "dns", port: 53, protocol: "UDP" };
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

/** Annotations of imports, by name of the Service. */
export type Annotations = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What clients call in a scenario, and what the agent runs with. */
export interface Scenario {
  /** Some of the network's. */
  readonly services: Services;
  readonly annotations: Annotations;
  /** Besides those of the backend. */
  readonly flags: readonly string[];
}

/** Clients of a node of c1 that call Services, in a network that does not admit or route everything. */
export class ReachStage implements AsyncDisposable {
  readonly agent: AgentProcess;
  readonly #network: ReachNetwork;
  readonly #manifests: ManifestDirectory;
  readonly #scenario: Scenario;
  readonly #attempts = new Map<string, Attempt[]>();
  readonly #clients: Process[] = [];
  /** Clusters that are out of rotation. */
  readonly #retired = new Set<string>();
  #broken = 0;

  private constructor(network: ReachNetwork, scenario: Scenario) {
    this.#network = network;
    this.#scenario = scenario;
    this.#manifests = network.newDirectory();
    this.#write();
    const place = ["--cluster-id", "c1", "--region", "eu-west", "--clusterset-cidr", RANGES];
    this.agent = new AgentProcess(this.node, this.#manifests.path, [
      ...place,
      ...["--node-name", "n1"],
      ...network.setting.backend.flags,
      ...scenario.flags,
    ]);
  }

  /** Starts an agent that knows nothing of earlier scenarios. */
  static async begin(network: ReachNetwork, scenario: Scenario): Promise<ReachStage> {
    await network.heal();
    const stage = new ReachStage(network, scenario);
    try {
      await stage.agent.start();
      return stage;
    } catch (error) {
      // The next scenario has another one.
      await stage.agent.stop();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stopClients();
    await this.agent.stop();
  }

  /** The node of the clients. */
  get node(): Namespace {
    return this.#network.node();
  }

  #write(): void {
    const { services, annotations } = this.#scenario;
    for (const [name, places] of Object.entries(services)) {
      const key = `shop/${name}` as const;
      const { metadata, ...rest } = importObject(key, [this.#network.vipOf(name)], [HTTP, DNS]) as {
        metadata: object;
      };
      const slices = [...Map.groupBy(places, clusterOf)].map(([cluster, own]) =>
        sliceObject(
          `${name}-${cluster}`,
          key,
          { cluster, region: REGIONS[cluster] ?? "" },
          [HTTP, DNS].map((port) => ({ ...port, port: TARGET })),
          own.map((place) => ({
            addresses: [this.addressOf(place, name)],
            nodeName: place.split("/")[1],
            conditions: { ready: !this.#retired.has(cluster), serving: true },
          })),
        ),
      );
      const annotated = { ...metadata, annotations: annotations[name] ?? {} };
      this.#manifests.write(name, { ...rest, metadata: annotated }, ...slices);
    }
  }

  /** A client connects to a service until `finish`. */
  call(client: string, service: string, protocol: "tcp" | "udp" = "tcp"): void {
    const attempts: Attempt[] = [];
    this.#attempts.set(`${client} ${service}`, attempts);
    const [{ port }, patience] = protocol === "tcp" ? [HTTP, PATIENCE] : [DNS, DATAGRAM_PATIENCE];
    const limits = ["--rate", `${RATE}`, "--for", "600", "--timeout", `${patience}`];
    const process = this.#network
      .pod(HERE, client)
      .spawn(request(...limits, `${protocol}://${this.#hostOf(service)}:${port}`));
    process.onLine((line) => {
      const attempt = parseAttempt(line);
      if (attempt !== undefined) attempts.push(attempt);
    });
    this.#clients.push(process);
  }

  /** Waits until connections come to these places only, and to each of them. */
  async come(client: string, service: string, ...places: Places): Promise<void> {
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

  /** Waits until endpoints of so many groups have accepted a probe, so that failure detection knows that probes reach them. */
  async calibrated(groups = 1): Promise<void> {
    await eventually(async () => {
      const page = await this.agent.page("/metrics");
      const [, accepted = "0"] = /health_probes_total\{result="accepted"\} (\d+)/.exec(page) ?? [];
      if (Number(accepted) < groups) throw new Error(`${accepted} probes were accepted`);
    });
  }

  /** A client opens a connection to a pod of a cluster, and sends requests over it until that ends. Returns the client. */
  async stay(client: string, service: string, cluster: string): Promise<Process> {
    const vip = this.#network.vipOf(service);
    for (;;) {
      const argv = [process.execPath, STREAM, "tcp", vip, `${HTTP.port}`];
      const stream = this.#network.pod(HERE, client).spawn(argv);
      const place = await stream.line(/^c\d\//, 60_000);
      if (clusterOf(place) !== cluster) await stream.stop();
      else {
        this.#clients.push(stream);
        return stream;
      }
    }
  }

  /** The address of a client or of a Service's pod, in the family of the setting. */
  addressOf(place: string, pod: string): string {
    return this.#network.pod(place, pod).address(this.#network.setting.family);
  }

  /** Nothing leaves or reaches a cluster any more. */
  async cutOff(cluster: string): Promise<void> {
    await cutOff(this.#network.lab, cluster);
  }

  /** Ends what `cutOff` began. */
  async reconnect(cluster: string): Promise<void> {
    await reconnect(this.#network.lab, cluster);
  }

  /** Half a second in which nothing reaches a cluster's pods. */
  async flap(cluster: string): Promise<void> {
    const drop = `${this.#isIPv6 ? "ip6" : "ip"} daddr ${this.#podsOf(cluster)} drop`;
    const chain = "chain forward { type filter hook forward priority 0;";
    const commands = `nft 'table inet flap { ${chain} ${drop}; }; }' && sleep 0.5; nft delete table inet flap`;
    await this.#network.lab.router.exec(["sh", "-c", commands]);
  }

  /** A cluster's nodes drop what comes from this address, or from anywhere, to their pods, or to one of them; or reject it. */
  async drop(
    cluster: string,
    { from, to, by = ["-j", "DROP"] }: { from?: string; to?: string; by?: readonly string[] },
  ): Promise<void> {
    const rule = [
      ...(from === undefined ? [] : ["-s", from]),
      ...["-d", to ?? this.#podsOf(cluster)],
      ...by,
    ];
    for (const node of ["n1", "n2"]) await this.filter(`${cluster}/${node}`, rule);
  }

  /** A node dies: it forwards nothing to its pods any more. */
  async killNode(node: string): Promise<void> {
    await this.filter(node, ["-j", "DROP"]);
  }

  /** A node forwards packets in this way, first of all. */
  async filter(place: string, rule: readonly string[]): Promise<void> {
    const program = this.#isIPv6 ? "ip6tables" : "iptables";
    await this.#network.node(place).exec([program, "-I", "FORWARD", ...rule]);
  }

  /** A cluster's Lease has expired: its endpoints only serve. */
  retire(cluster: string): void {
    this.#retired.add(cluster);
    this.#write();
  }

  /** A client calls a Service, and the other one sends the answer in the name of the endpoint at a place. Returns once the kernel has tracked it. */
  async forgeAnswer(service: string, place: string): Promise<void> {
    const [caller, forger] = [this.#network.pod(HERE, "b"), this.#network.pod(HERE, "a")];
    const { family } = this.#network.setting;
    const client = { address: caller.address(family), port: 4_000 };
    const endpoint = { address: this.addressOf(place, service), port: TARGET };
    const vip = { address: this.#network.vipOf(service), port: HTTP.port };
    await sendSegment(caller, "SYN", client, vip);
    await sendSegment(forger, "SYN-ACK", endpoint, client);
    const entries = ["conntrack", "-L", "-f", family.toLowerCase(), "-p", "tcp", "--sport", "4000"];
    await eventually(async () => {
      const entry = await this.node.exec(entries);
      if (!entry.includes(`src=${endpoint.address} `) || entry.includes("UNREPLIED"))
        throw new Error(`no answer in ${entry}`);
    });
  }

  /** The address from which the node connects to other clusters. */
  async nodeAddress(): Promise<string> {
    const to = this.#isIPv6 ? "fd00:10:2::11" : "10.2.0.11";
    const route = await this.node.exec(["ip", "-o", "route", "get", to]);
    return /src (\S+)/.exec(route)?.[1] ?? "";
  }

  /** From now on, connections count that fail. */
  broken(): void {
    this.#broken = now();
  }

  /** The verdicts that the kernel keeps. */
  verdicts(): Promise<string> {
    const table = this.#isIPv6 ? "ip6" : "ip";
    const set = ["nft", "list", "set", table, "clusterset-health", "silent"];
    return this.node.exec(set);
  }

  /** Stops the clients, and returns the connections of one that nobody answered; without those that a server had accepted before. */
  async finish(client: string, service: string): Promise<Attempt[]> {
    await this.#stopClients();
    const all = this.#attempts.get(`${client} ${service}`) ?? [];
    const lost = all.filter(({ begun, error }) => error !== undefined && begun > this.#broken);
    if (lost.length > 0) console.error(`${service}, broken at ${this.#broken}:\n${this.agent.log}`);
    return lost;
  }

  async #stopClients(): Promise<void> {
    await Promise.all(this.#clients.splice(0).map((one) => one.stop()));
  }

  #podsOf([, id]: string): string {
    return this.#isIPv6 ? `fd00:10:${id}::/48` : `10.${id}.0.0/16`;
  }

  get #isIPv6(): boolean {
    return this.#network.setting.family === "IPv6";
  }

  #hostOf(service: string): string {
    const vip = this.#network.vipOf(service);
    return this.#isIPv6 ? `[${vip}]` : vip;
  }
}

function clusterOf(place: string): string {
  return place.split("/")[0] ?? "";
}
