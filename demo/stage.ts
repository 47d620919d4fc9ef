import { setTimeout as sleep } from "node:timers/promises";
import {
  type Attempt,
  Connections,
  type Held,
  now,
  parseAttempt,
  placeOf,
} from "../test/connections/connections.ts";
import { cutOff, Lab, reconnect } from "../test/lab/lab.ts";
import type { Namespace } from "../test/lab/namespace.ts";
import type { Process } from "../test/lab/process.ts";
import { request, serve } from "../test/lab/programs.ts";
import { AgentProcess } from "../test/stages/agent-process.ts";
import { PublishingControlPlane } from "./control-plane.ts";
import { Controllers } from "./controllers.ts";
import { ms } from "./duration.ts";
import { Manifests } from "./manifests.ts";
import { SameName } from "./same-name.ts";
import { type NodeProgram, type Publication, Scenario } from "./scenario.ts";
import type { Act } from "./steps.ts";
import { CLIENT, CLUSTERS, type Cluster, CONTROL_PLANE, HOME, labSpec } from "./world.ts";

const ROOT = `${import.meta.dirname}/..`;
const SCENARIO = `${ROOT}/test/scenarios/manifests/three-tiers.yaml`;

/**
 * Where the agent's objects come from: a directory, a real API server, or a controller in each cluster; or, with these, a kube-proxy in
 * place of the agent.
 */
export const SOURCES = ["manifests", "kubernetes", "controller", "same-name"] as const;
export type SourceName = (typeof SOURCES)[number];

/** New connections a second, and for how many seconds at the very most. */
export const RATE = 200;
const LONGEST_RUN = 120;
/** Ms until the client gives a connection up: it sends a SYN for the third time after three seconds. */
const TIMEOUT = 5_000;

/** The lab with everything in it that is real: servers, the agent or kube-proxy on the client's node, and the client. */
export class Stage implements AsyncDisposable {
  readonly held: Held[] = [];
  readonly #lab: Lab;
  readonly #publication: Publication;
  readonly #say: (line: string) => void;
  readonly #servers = new Map<string, Process[]>();
  readonly #program: NodeProgram;
  #vip = "";
  #died: number | undefined;
  #connections: Connections | undefined;

  private constructor(lab: Lab, publication: Publication, say: (line: string) => void) {
    this.#lab = lab;
    this.#publication = publication;
    this.#say = say;
    this.#program =
      publication.program ??
      new AgentProcess(this.#node, publication.objects, [
        ...publication.flags,
        `--node-name=${HOME.node}`,
        "--clusterset-cidr=241.0.0.0/8,fd00:241::/108",
      ]);
  }

  /**
   * Brings everything up; returns when the first connection to the VIP has been answered. `say` is told what is being
   * done.
   */
  static async open(source: SourceName, say: (line: string) => void): Promise<Stage> {
    const lab = await Lab.create(labSpec());
    let publication: Publication | undefined;
    try {
      publication = await publicationOf(source, lab, say);
      const stage = new Stage(lab, publication, say);
      await stage.#start();
      return stage;
    } catch (error) {
      await publication?.[Symbol.asyncDispose]();
      await lab.remove();
      throw error;
    }
  }

  /** All connections so far, in the order in which they ended. */
  get attempts(): readonly Attempt[] {
    return this.#connections?.attempts ?? [];
  }

  /** What the client connects to. */
  get vip(): string {
    return this.#vip;
  }

  /** When a cluster died without a word, the last time. */
  get died(): number | undefined {
    return this.#died;
  }

  /** True while the cluster's servers run. */
  isUp(cluster: Cluster): boolean {
    return this.#servers.has(cluster.id);
  }

  /**
   * Does something to a cluster. As in a real cluster, endpoints are declared gone before servers stop, and declared
   * ready after they have started. Gives the moment just before the change, and what is still to be done.
   */
  async act(cluster: string, act: Act): Promise<{ changed: number; rest: Promise<void> }> {
    if (act === "up") await this.#startServers(cluster);
    const changed = now();
    if (act === "up" || act === "down") await this.#publication.scale(cluster, act === "up");
    if (act === "export") await this.#controllers.export(cluster);
    if (act === "drain" || act === "undrain")
      await this.#controllers.drain(cluster, act === "drain");
    if (act === "kill") await this.#killCluster(cluster);
    if (act === "kill-controller") await this.#controllers.killController(cluster);
    if (act === "boot") await this.#bootCluster(cluster);
    return { changed, rest: act === "down" ? this.#stopServers(cluster) : Promise.resolve() };
  }

  /** Opens a connection that stays. */
  async hold(): Promise<void> {
    if (this.#connections === undefined) throw new Error("the client does not connect yet");
    this.held.push(await this.#connections.hold());
  }

  /** Closes the held connections; gives what is wrong with them. May be repeated. */
  async release(): Promise<string[]> {
    await Promise.all(this.held.map((one) => one.close()));
    return this.held.flatMap(({ name, fault }) =>
      fault === undefined ? [] : [`the connection held to ${name} broke: ${fault}`],
    );
  }

  /** The service's rules, as anyone on the node can see them. */
  async rules(): Promise<string[]> {
    const saved = await this.#node.exec(["iptables-save", "-t", "nat"]);
    return saved.split("\n").filter((line) => line.includes(this.#publication.ruleMark));
  }

  /** Ends the stream of new connections; every one that was begun is then in `attempts`, a hung one too. */
  async finish(): Promise<void> {
    await this.#connections?.finish();
  }

  /** Throws if the program of the client's node has ended. */
  async checkProgram(): Promise<void> {
    const { exited, log } = this.#program;
    const exit = await Promise.race([exited, sleep(0)]);
    if (exit === undefined) return;
    throw new Error(
      `the agent or kube-proxy has ended (${exit.signal ?? `code ${exit.code}`}):\n${log}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#publication[Symbol.asyncDispose]();
    await this.#lab.remove();
  }

  get #node(): Namespace {
    return this.#lab.node(HOME.cluster, HOME.node);
  }

  get #client(): Namespace {
    return this.#lab.pod(HOME.cluster, HOME.node, CLIENT.name);
  }

  async #start(): Promise<void> {
    await Promise.all([this.#program.start(), ...CLUSTERS.map(({ id }) => this.#startServers(id))]);
    const { vip, since } = await this.#publication.publish();
    this.#vip = vip;
    const first = await this.#firstAnswer();
    if (since !== undefined) {
      const took = ms(first.ended - since);
      this.#say(`  a pod of ${HOME.cluster} has connected to ${placeOf(first)} after ${took}`);
    }
    const pace = { rate: RATE, seconds: LONGEST_RUN, timeout: TIMEOUT };
    this.#connections = new Connections(this.#client, vip, pace);
  }

  async #firstAnswer(): Promise<Attempt> {
    const argv = request("--timeout", "200", `tcp://${this.#vip}:80`);
    for (let tries = 0; tries < 50; tries++) {
      await this.checkProgram();
      const { code, stdout } = await this.#client.run(argv);
      const attempt = code === 0 ? parseAttempt(stdout) : undefined;
      if (attempt !== undefined) return attempt;
    }
    throw new Error(`${this.#vip} was not programmed:\n${this.#program.log}`);
  }

  /** Everything in it ends at once, without a packet: its kernel neither rejects nor closes a connection. */
  async #killCluster(cluster: string): Promise<void> {
    await cutOff(this.#lab, cluster);
    this.#died = now();
    for (const server of this.#servers.get(cluster) ?? []) server.signal("SIGKILL");
    this.#servers.delete(cluster);
    await this.#controllers.kill(cluster);
  }

  async #bootCluster(cluster: string): Promise<void> {
    await reconnect(this.#lab, cluster);
    await this.#startServers(cluster);
    await this.#controllers.boot(cluster);
  }

  /** Only they can export, and only they can be missed. */
  get #controllers(): Controllers {
    if (this.#publication instanceof Controllers) return this.#publication;
    throw new Error("there are no controllers");
  }

  async #startServers(cluster: string): Promise<void> {
    const pods = CLUSTERS.find(({ id }) => id === cluster)?.pods ?? [];
    const servers = pods.map(({ name, node }) =>
      this.#lab
        .pod(cluster, node, name)
        .spawn(serve("--name", `${cluster}/${name}`, "--grace", "1")),
    );
    await Promise.all(servers.map((server) => server.line(/serving/)));
    this.#servers.set(cluster, servers);
  }

  async #stopServers(cluster: string): Promise<void> {
    await sleep(this.#publication.grace);
    const servers = this.#servers.get(cluster) ?? [];
    this.#servers.delete(cluster);
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function publicationOf(
  source: SourceName,
  lab: Lab,
  say: (line: string) => void,
): Promise<Publication> {
  if (source === "controller") return Controllers.start(lab, say);
  if (source === "same-name") return SameName.start(lab, say);
  const scenario = new Scenario(SCENARIO);
  if (source === "manifests") return new Manifests(lab.directory, scenario);
  say("starting a real etcd and kube-apiserver, which the agent lists and watches");
  return PublishingControlPlane.start(lab.node(HOME.cluster, CONTROL_PLANE), scenario);
}
