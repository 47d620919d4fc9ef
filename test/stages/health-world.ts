import { setImmediate as turn } from "node:timers/promises";
import type { ProbeResult, TcpEndpoint } from "../../agent/health/evidence.ts";
import type { HealthEvents } from "../../agent/health/health-events.ts";
import { HealthSource } from "../../agent/health/health-source.ts";
import { endpointName } from "../../agent/health/verdict.ts";
import { WatchedEndpoints } from "../../agent/health/watched-endpoints.ts";
import type { EndpointFact, ImportFact, NodeFact } from "../../agent/model/facts.ts";
import { Model } from "../../agent/model/model.ts";
import { NO_SILENCE } from "../../agent/model/silence.ts";
import { planImport } from "../../agent/plan/plan.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import type { Family } from "../../api/address.ts";
import { FakeClock } from "../doubles/fake-clock.ts";
import { FakeEvidence } from "../doubles/fake-evidence.ts";
import { SourceRecorder } from "../doubles/source-recorder.ts";
import { importFact, nodeFact, sliceFact } from "../generators/facts.ts";

/** Milliseconds after which Linux repeats a SYN before 6.5; later versions do so more often. */
const SYNS: readonly number[] = [0, 1_000, 3_000, 7_000];
/** Milliseconds of one step of the world: a round trip. */
const STEP = 50;

/** One connection of a client. Times in milliseconds. */
export interface Connection {
  readonly importKey: ImportFact["key"];
  /** Address of the client. */
  readonly client: string;
  /** Which port of the import. */
  readonly port: number;
  readonly begun: number;
  /** SYNs sent. */
  syns: number;
  /** What it was translated to, as connection tracking remembers. */
  endpoint: TcpEndpoint | undefined;
  /** When it was established; undefined so far. */
  established?: number;
}

/** What becomes of a SYN to an endpoint at this moment: the chance of an answer, 0 to 1. */
export type Network = (endpoint: TcpEndpoint, cluster: string, client?: string) => number;

/** The number of a TCP port, or one of UDP. */
export type ServedPort = number | `${number}/UDP`;

/** The client of connections for which a test names none. */
const CLIENT = "10.1.0.9";

/** A node with a plan, clients and the health source, and a network that a test breaks. Only time and the kernel are models. */
export class HealthWorld {
  readonly clock = new FakeClock();
  readonly evidence = new FakeEvidence(this.clock);
  readonly model = new Model();
  node: NodeFact;
  readonly connections: Connection[] = [];
  /** `silent cluster c2`, `ended cluster c2 answered`, `uplink silent`, … */
  readonly words: string[] = [];
  /** Clusters that probes do not reach, as reported. */
  blind: ReadonlySet<string> = new Set();
  /** Probes so far. */
  probes = 0;
  /** Those under way. */
  probing = 0;
  network: Network = () => 1;
  /** What a test does at each step, such as calls of certain clients. */
  onStep: () => void = () => undefined;
  /** Milliseconds by which the agent's own timers are late: its process gets no processor. */
  delay: () => number = () => 0;
  /** The same for the node's own connections, where it is different. */
  ownNetwork: Network | undefined;
  /** Clusters whose answers arrive by another link than the route to them: the kernel's rules do not count them. */
  unseen: ReadonlySet<string> = new Set();
  /** Clusters that refuse the node's connections: their servers do not run. */
  refusing: ReadonlySet<string> = new Set();
  /** True: probes fail on this node, as without free ports. */
  isProbeBroken = false;
  /** The family of what is served from now on. */
  family: Family = "IPv4";
  /** Milliseconds until an answer arrives. */
  roundTrip = 0;
  /** When clients send their SYNs, in milliseconds. A client with one SYN gives up within a second. */
  syns = SYNS;
  /** Ports of imports, by name, where these are not 8080 alone. */
  ports: Readonly<Record<string, readonly ServedPort[]>> = {};
  readonly #random: () => number;
  readonly #clusters = new Map<string, string>();
  /** Those that may send another SYN. */
  readonly #open = new Set<Connection>();
  /** What each import is translated to, until something changes. */
  readonly #plans = new Map<ImportFact["key"], readonly VirtualService[]>();
  #plannedFor: NodeFact | undefined;
  #source: HealthSource;

  constructor(random: () => number, node: Partial<NodeFact> = {}) {
    this.#random = random;
    this.node = nodeFact(node);
    this.model.listed();
    this.#source = this.#start();
  }

  /** An import `demo/NAME`, or in another namespace, with so many endpoints in each of these places: `c2`, or `c1/n2` for a node of c1. */
  serve(
    name: string,
    endpoints: Readonly<Record<string, number>>,
    fact: Partial<Omit<ImportFact, "vips">> = {},
    namespace = "demo",
  ): void {
    const index = [...this.model.keys()].length + 1;
    const key = `${namespace}/${name}` as const;
    this.#plans.clear();
    this.model.setImport(
      importFact({
        ports: this.#portsOf(name, 80),
        ...{ ...fact, key, vips: [vipOf(this.family, index)] },
      }),
      0,
    );
    const counts = Map.groupBy(Object.entries(endpoints), ([place]) => place.split("/")[0] ?? "");
    for (const [cluster, places] of counts) {
      const nodes = places.flatMap(([place, count]) =>
        Array.from({ length: count }, () => place.split("/")[1]),
      );
      const listed = nodes.map((nodeName, i): EndpointFact => {
        const address = addressOf(this.family, cluster, index, i);
        return { address, condition: "ready", ...(nodeName !== undefined && { nodeName }) };
      });
      this.list(name, cluster, listed, namespace);
    }
  }

  /** A cluster, of unknown name if that is empty, lists these addresses for an import. */
  list(
    name: string,
    cluster: string,
    endpoints: readonly (string | EndpointFact)[],
    namespace = "demo",
  ): void {
    this.#plans.clear();
    for (const one of endpoints) {
      const address = typeof one === "string" ? one : one.address;
      // Others may list it, too.
      if (!this.#clusters.has(address)) this.#clusters.set(address, cluster);
    }
    this.model.setSlice(
      sliceFact({
        ...{ key: `${namespace}/${name}-${cluster}`, importKey: `${namespace}/${name}`, endpoints },
        family: this.family,
        ...(cluster !== "" && { cluster }),
        ports: this.#portsOf(name),
        region: ["", "c1", "c2"].includes(cluster) ? "eu-west" : "us-east",
      }),
      0,
    );
  }

  /** What new connections to an import are translated to. */
  endpointsOf(importKey: ImportFact["key"], port = 0): readonly string[] {
    return this.#chosen(importKey, port).map(endpointName);
  }

  /** The clusters of these, each as often as it has endpoints among them. */
  placesOf(importKey: ImportFact["key"], port = 0): string[] {
    return this.#chosen(importKey, port).map(({ address }) => this.#clusters.get(address) ?? "");
  }

  /** The clusters of these. */
  clustersOf(importKey: ImportFact["key"]): string[] {
    return [...new Set(this.placesOf(importKey))].sort();
  }

  /** Lets time pass; `calls` new connections a second to each of these imports. */
  async pass(
    ms: number,
    calls = 0,
    imports: Iterable<ImportFact["key"]> = this.model.keys(),
    client = CLIENT,
  ): Promise<void> {
    const keys = [...imports];
    for (let passed = 0; passed < ms; passed += STEP) {
      for (const key of keys) {
        if (this.#random() < (calls * STEP) / 1000) this.call(key, client);
      }
      this.onStep();
      for (const one of this.#open) this.#repeat(one);
      this.clock.advance(STEP);
      // The source reads, decides and writes between two steps: everything here is done by promises.
      await turn();
    }
  }

  /** One connection begins now. */
  call(importKey: ImportFact["key"], client = CLIENT, port = 0): Connection {
    const begun = this.clock.now();
    const one: Connection = { importKey, client, port, begun, syns: 0, endpoint: undefined };
    this.connections.push(one);
    this.#open.add(one);
    return one;
  }

  /** Milliseconds that connections begun in this time took; Infinity for one that was never established. */
  waits(from = 0, to = Number.POSITIVE_INFINITY): number[] {
    return this.connections
      .filter(({ begun }) => begun >= from && begun < to)
      .map(({ begun, established = Number.POSITIVE_INFINITY }) => established - begun);
  }

  /** The agent ends, and another one starts. */
  async restart(): Promise<void> {
    await this.stop();
    this.model.setSilence(NO_SILENCE, this.clock.now());
    this.#plans.clear();
    this.#source = this.#start();
  }

  async stop(): Promise<void> {
    let isStopped = false;
    void this.#source.stop().then(() => {
      isStopped = true;
    });
    // An examination in progress probes up to twice.
    while (!isStopped) {
      this.clock.advance(STEP);
      await turn();
    }
  }

  #start(): HealthSource {
    const source = new HealthSource({
      evidence: this.evidence,
      watched: () =>
        new WatchedEndpoints(
          { imports: this.model.imports, slices: this.model.slices, node: this.node },
          this.#random,
        ),
      probe: (endpoint) => this.#probe(endpoint),
      clock: {
        now: () => this.clock.now(),
        after: (ms, run) => this.clock.after(ms + this.delay(), run),
      },
      random: this.#random,
      events: this.#events(),
    });
    const recorder = new SourceRecorder();
    recorder.silenceChanged = (silence, at) => {
      this.model.setSilence(silence, at);
      this.#plans.clear();
    };
    source.start(recorder);
    return source;
  }

  #events(): HealthEvents {
    return {
      silent: ({ name }) => this.words.push(`silent ${name}`),
      ended: ({ name }, why) => this.words.push(`ended ${name} ${why}`),
      limited: (namespace) => this.words.push(`limited ${namespace}`),
      probed: () => this.probes++,
      blind: (clusters) => {
        for (const one of clusters) if (!this.blind.has(one)) this.words.push(`blind ${one}`);
        for (const one of this.blind) if (!clusters.has(one)) this.words.push(`reached ${one}`);
        this.blind = clusters;
      },
      uplink: (isSilent) => this.words.push(isSilent ? "uplink silent" : "uplink answers"),
      unavailable: (error) => this.words.push(error === undefined ? "available" : "unavailable"),
    };
  }

  /** A SYN reaches an endpoint, or not. */
  #syn(endpoint: TcpEndpoint, client?: string): boolean {
    const network = (client === undefined ? this.ownNetwork : undefined) ?? this.network;
    const cluster = this.#clusters.get(endpoint.address) ?? "";
    const hasAnswered = this.#random() < network(endpoint, cluster, client);
    if (hasAnswered && !this.unseen.has(cluster)) {
      const arrive = () => this.evidence.accepts(endpoint, client);
      if (this.roundTrip === 0) arrive();
      else this.clock.after(this.roundTrip, arrive);
    }
    return hasAnswered;
  }

  #repeat(one: Connection): void {
    const due = this.syns[one.syns];
    const now = this.clock.now();
    const hasAnswer = one.established !== undefined && one.established <= now + STEP;
    if (due === undefined || hasAnswer) this.#open.delete(one);
    else if (now >= one.begun + due && this.#send(one))
      one.established ??= now + Math.max(STEP, this.roundTrip);
  }

  /** Sends a SYN of a connection; true if it is answered. */
  #send(one: Connection): boolean {
    const chosen = this.#chosen(one.importKey, one.port);
    const known = one.endpoint;
    // An unanswered entry is deleted once its endpoint gets no new connections.
    const stays = known && chosen.some((other) => endpointName(other) === endpointName(known));
    const endpoint = stays ? known : chosen[Math.floor(this.#random() * chosen.length)];
    one.endpoint = endpoint;
    one.syns++;
    if (endpoint === undefined) return false;
    this.evidence.sent(endpoint, one.client, stays === true);
    return this.#syn(endpoint, one.client);
  }

  /** As agent/system/tcp-connect.ts: three SYNs, and an answer within 900 ms. */
  #probe(endpoint: TcpEndpoint): Promise<ProbeResult> {
    const { promise, resolve } = Promise.withResolvers<ProbeResult>();
    this.probing++;
    const isRefused = this.refusing.has(this.#clusters.get(endpoint.address) ?? "");
    // The agent wakes when a probe ends: if it probed again at once, time would never pass.
    if (isRefused) this.clock.after(STEP, () => resolve("refused"));
    if (this.isProbeBroken) resolve("unknown");
    for (const ms of isRefused ? [] : [0, 250, 500]) {
      this.clock.after(ms, () => {
        if (!this.#syn(endpoint)) return;
        if (this.roundTrip === 0) resolve("accepted");
        else this.clock.after(this.roundTrip, () => resolve("accepted"));
      });
    }
    this.clock.after(900 + this.delay(), () => resolve("silent"));
    return promise.finally(() => this.probing--);
  }

  #chosen(importKey: ImportFact["key"], port: number): readonly TcpEndpoint[] {
    if (this.#plannedFor !== this.node) this.#plans.clear();
    this.#plannedFor = this.node;
    const known = this.#plans.get(importKey);
    if (known !== undefined) return known[port]?.endpoints ?? [];
    const view = this.model.view(importKey);
    const services = view === undefined ? [] : planImport(view, this.node).services;
    this.#plans.set(importKey, services);
    return services[port]?.endpoints ?? [];
  }

  /** `first`: the number of the first one, where an import has other numbers than its endpoints. */
  #portsOf(name: string, first?: number) {
    const all = this.ports[name] ?? [8080];
    return all.map((served, i) => {
      const port = Number.parseInt(`${served}`, 10);
      const protocol = typeof served === "number" ? ("TCP" as const) : ("UDP" as const);
      return { name: `p${port}`, protocol, port: first === undefined ? port : first + i };
    });
  }
}

/** The address of an endpoint: 10.2.1.1, or fd00:10:2:1::1. */
export function addressOf(family: Family, cluster: string, service: number, i: number): string {
  const id = cluster.slice(1) || "9";
  if (family === "IPv6") return `fd00:10:${id}:${service.toString(16)}::${(i + 1).toString(16)}`;
  return `10.${id}.${service & 255}.${i + 1}`;
}

/** The range of a cluster's endpoints. */
export function rangeOf(family: Family, cluster: string): string {
  return family === "IPv6" ? `fd00:10:${cluster.slice(1)}::/48` : `10.${cluster.slice(1)}.0.0/16`;
}

function vipOf(family: Family, service: number): string {
  if (family === "IPv6") return `fd00:241::${service.toString(16)}`;
  return `241.0.${service >> 8}.${service & 255}`;
}
