import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { isUsage, usageText } from "../../common/config/usage.ts";
import { Reflector } from "../../common/kubernetes/reflector.ts";
import { parseConfig } from "../../controller/config/config.ts";
import { MOST_LOCAL_BYTES } from "../../controller/model/limits.ts";
import { ControllerMetrics } from "../../controller/observe/metrics.ts";
import { Observer } from "../../controller/observe/observer.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { Controller } from "../../controller/sync/controller.ts";
import { FakeClock } from "../doubles/fake-clock.ts";
import { logLines } from "../doubles/log-lines.ts";
import { at } from "../doubles/memory/fields.ts";
import { MemoryApiServer, type Written } from "../doubles/memory/memory-api-server.ts";
import { Mortal } from "../doubles/memory/mortal.ts";
import { POD_RANGES } from "../generators/pod-ranges.ts";
import { ClusterObjects } from "./cluster-objects.ts";

interface Replica {
  readonly controller: Controller;
  readonly life: Mortal;
}

/** A cluster in memory, with the namespace shop: an API server, and the controller, which may come and go. */
export class MemoryCluster extends ClusterObjects {
  /** What it calls itself. */
  readonly id: string;
  /** What it is called here. */
  readonly name: string;
  readonly log: readonly string[];
  readonly metrics = new ControllerMetrics();
  /** `--clusterset-cidr` of the next replica. */
  ranges = "241.0.0.0/24";
  /** More flags of the next replica. */
  flags: readonly string[] = [];
  /** Of the next replica. */
  localBytes = MOST_LOCAL_BYTES;
  readonly #world: ControllerWorld;
  readonly #write: ReturnType<typeof logLines>["log"];
  readonly #replicas: Replica[] = [];
  #starts = 0;

  constructor(world: ControllerWorld, name: string, id = name) {
    super(new MemoryApiServer(name, world.clock, world.random));
    const { log, lines } = logLines();
    this.id = id;
    this.name = name;
    this.log = lines;
    this.#write = log;
    this.#world = world;
    for (const name of ["kube-system", "clusterset-proxy", "shop"]) this.namespace(name);
  }

  /** uid of kube-system, which identifies the cluster. */
  get uid(): unknown {
    return at(this.server.objects.get("namespaces", "kube-system"), ["metadata", "uid"]);
  }

  /** The replica that was started first, of those that run. */
  get controller(): Controller | undefined {
    return this.#replicas[0]?.controller;
  }

  /** How many replicas of the controller run. */
  get replicas(): number {
    return this.#replicas.length;
  }

  /** Starts the controller, or one more replica of it. */
  start(): void {
    const { random } = this.#world;
    const life = new Mortal();
    const clock = life.clock(this.#world.clock);
    const here = life.api(this.server);
    const hub = this.#world.hub;
    const flags = [
      ...["--kubeconfig", "memory", "--cluster-id", this.id, "--clusterset-cidr", this.ranges],
      ...["--lease-duration", `${this.#world.leaseSeconds}s`],
      ...(hub === undefined ? [] : ["--registry", "hub", "--hub-kubeconfig", "memory"]),
    ];
    const host = { name: "memory", terminal: false };
    const config = parseConfig(["run", ...flags, ...this.flags], {}, host);
    if (isUsage(config)) throw new Error(usageText(config));
    const controller = new Controller({
      config,
      api: here,
      registryApi: hub === undefined ? here : life.api(hub),
      connect: async ({ cluster }) => life.api(await this.#world.connect(cluster)),
      follow: (api) => (query, events, known) =>
        new Reflector({ api, query, events, clock, random, log: this.#write, known }),
      replica: `${this.name}-${++this.#starts}`,
      clock,
      random,
      today: () => new Date(Date.UTC(2026, 5, 1) + clock.now()),
      events: new Observer(this.#write, this.metrics),
      localBytes: this.localBytes,
    });
    controller.start();
    this.#replicas.push({ controller, life });
  }

  /** Stops the oldest replica; what it has under way ends. */
  async stop(): Promise<void> {
    await Promise.all([this.#replicas.shift()?.controller.stop(), this.#world.pass(30_000)]);
  }

  /** Stops the oldest replica, and starts another one. */
  async restart(): Promise<void> {
    await this.stop();
    this.start();
  }

  /** Kills the oldest replica. */
  kill(): void {
    this.#replicas.shift()?.life.kill();
  }

  /** What an operator writes on the ClusterProperty that names the cluster. */
  annotate(annotations: Readonly<Record<string, string>>): void {
    const metadata = { name: "cluster.clusterset.k8s.io", annotations };
    this.apply({ kind: "ClusterProperty", metadata, spec: { value: this.id } });
  }

  /** After so long, it imports these, and nothing else. */
  async importsAfter(ms: number, all: Record<string, string>, why?: string): Promise<void> {
    await this.#world.pass(ms);
    assert.deepEqual(this.imported(), all, why);
  }

  /** After so long, the import of this name is as `imported` has it; undefined: there is none. */
  async importAfter(ms: number, key: string, is: string | RegExp | undefined, why?: string) {
    await this.#world.pass(ms);
    isAs(this.imported()[key], is, why);
  }

  /** After so long, the condition Ready of an import is as `ready` has it. */
  async readyAfter(ms: number, is: string | RegExp, key?: string): Promise<void> {
    await this.#world.pass(ms);
    isAs(this.ready(key), is);
  }

  /** The same, in the time from now on, in which something may happen first. */
  async writesIn(ms: number, kind?: string, act?: () => void | Promise<void>): Promise<Written[]> {
    const { length } = this.server.writes;
    await act?.();
    await this.#world.pass(ms);
    return this.writesAfter(length, kind);
  }

  /** The same, with a restart of the controller first. */
  writesAfterRestart(ms: number, kind?: string): Promise<Written[]> {
    return this.writesIn(ms, kind, () => this.restart());
  }
}

function isAs(text: string | undefined, is: string | RegExp | undefined, why?: string): void {
  if (is instanceof RegExp) assert.match(text ?? "", is, why);
  else assert.equal(text, is, why);
}

/** A cluster for each name, in the same order. */
type Clusters<Names extends readonly string[]> = { readonly [I in keyof Names]: MemoryCluster };

/** Clusters in memory that know each other, each with a controller, on one clock that a test moves on. */
export class ControllerWorld<const Names extends readonly string[] = readonly string[]> {
  readonly clock = new FakeClock();
  readonly random: () => number;
  readonly clusters: Clusters<Names>;
  /** Clusters without a Secret that names them. */
  readonly misguided = new Set<string>();
  /** How long a cluster may be silent (`--lease-duration`). */
  leaseSeconds = 30;
  /** Undefined: each cluster publishes on its own API server. */
  hub: MemoryApiServer | undefined;

  constructor(names: Names, random: () => number = () => 0.5, onHub = false) {
    this.random = random;
    const made = names.map((name) => new MemoryCluster(this, name, name.split("-")[0]));
    this.clusters = made as unknown as Clusters<Names>;
    if (onHub) {
      this.hub = new MemoryApiServer("hub", this.clock, random);
      for (const { id } of made) this.declare(id, {});
    } else for (const { id } of made) for (const one of made) if (one.id !== id) one.introduce(id);
  }

  /** A world, and its clusters by name. */
  static of<const Ids extends readonly string[]>(ids: Ids, random?: () => number, onHub = false) {
    const world = new ControllerWorld(ids, random, onHub);
    const clusters = Object.fromEntries(world.clusters.map((one) => [one.name, one]));
    return { world, ...(clusters as Record<Ids[number], MemoryCluster>) };
  }

  /** Clusters in step, the first of which exports shop/web with one endpoint, 10.1.0.7. */
  static async withExport<const Ids extends readonly string[]>(ids: Ids, random?: () => number) {
    const opened = ControllerWorld.of(ids, random);
    opened.world.clusters[0]?.offer("shop/web", ["10.1.0.7"]);
    await opened.world.run(5000);
    return opened;
  }

  /** Clusters that publish on a hub; each calls itself what is before a hyphen: `c1-other` is another c1. */
  static withHub<const Ids extends readonly string[]>(ids: Ids, random?: () => number) {
    const opened = ControllerWorld.of(ids, random, true);
    return { ...opened, hub: opened.world.hub ?? assert.fail() };
  }

  /** Two clusters, of which c2 has these flags. */
  static withFlags(...flags: readonly string[]) {
    const opened = ControllerWorld.of(["c1", "c2"]);
    opened.c2.flags = flags;
    return opened;
  }

  cluster(id: string): MemoryCluster {
    const found = this.clusters.find((one) => one.id === id);
    if (found === undefined) throw new Error(`no cluster ${id}`);
    return found;
  }

  /** Finds a way to a cluster, which takes its time, and may fail. */
  async connect(id: string): Promise<MemoryApiServer> {
    const found = this.cluster(id).server;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.clock.after(this.random() * 1000, resolve);
    await promise;
    if (this.misguided.has(id)) throw new Error("Not a kubeconfig");
    return found;
  }

  /** The time of day, so many seconds from now. */
  timeIn(seconds = 0): string {
    return new Date(Date.UTC(2026, 5, 1) + this.clock.now() + seconds * 1000).toISOString();
  }

  /** The annotation of a drain from now on, for so many minutes. */
  drain(minutes: number, by = "ann"): Record<string, string> {
    const text = `from=${this.timeIn()}; for=${minutes}m; by=${by}; reason=kernel upgrade`;
    return { "clusterset-proxy.io/drain": text };
  }

  /** What the hub's operator writes on the namespace of a cluster's registry. */
  declare(id: string, annotations: Readonly<Record<string, string>>): void {
    const name = registryNamespace(id);
    const labels = { "clusterset-proxy.io/registry": id };
    const metadata = { name, labels, annotations: { ...POD_RANGES, ...annotations } };
    this.hub?.objects.apply("namespaces", name, { kind: "Namespace", metadata }, "author");
  }

  /** Starts all controllers. */
  start(): void {
    for (const cluster of this.clusters) cluster.start();
  }

  /** Starts all controllers, and moves time on. */
  async run(ms: number): Promise<void> {
    this.start();
    await this.pass(ms);
  }

  /** Moves time on, and lets what that causes come to rest, timer by timer. */
  async pass(ms: number): Promise<void> {
    await this.#settle();
    for (let left = ms; left > 0; ) {
      const step = Math.min(left, Math.max(1, this.clock.next ?? left));
      this.clock.advance(step);
      left -= step;
      await this.#settle();
    }
  }

  /** Stops all controllers. */
  async stop(): Promise<void> {
    for (const cluster of this.clusters) while (cluster.replicas > 0) await cluster.stop();
  }

  /** Lets all that can happen without time happen. */
  async #settle(): Promise<void> {
    for (let turn = 0; turn < 4; turn++) await setImmediate();
  }
}
