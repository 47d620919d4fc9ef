import { setTimeout as sleep } from "node:timers/promises";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { request, serve } from "../lab/programs.ts";
import { type Attempt, now, parseAttempt } from "./attempt.ts";
import { PublishingControlPlane } from "./control-plane.ts";
import { Held } from "./held.ts";
import { Manifests } from "./manifests.ts";
import { type Publication, Scenario } from "./scenario.ts";
import { CLIENT, CLUSTERS, type Cluster, CONTROL_PLANE, HOME, labSpec, VIP } from "./world.ts";

const ROOT = `${import.meta.dirname}/../..`;
const SCENARIO = `${ROOT}/test/scenarios/manifests/three-tiers.yaml`;

/** Where the agent reads its objects: a directory, or a real API server. */
export const SOURCES = ["manifests", "kubernetes"] as const;
export type SourceName = (typeof SOURCES)[number];

/** New connections a second, and for how many seconds at the very most. */
export const RATE = 200;
const LONGEST_RUN = 60;

/** How long servers go on after their endpoints were declared gone, in ms; a kubelet gives them 30 s. */
const GRACE = 300;

/** The lab with everything in it that is real: servers, the agent on the client's node, and the client. */
export class Stage implements AsyncDisposable {
  /** All connections so far, in the order in which they ended. */
  readonly attempts: Attempt[] = [];
  readonly held: Held[] = [];
  readonly #lab: Lab;
  readonly #scenario = new Scenario(SCENARIO);
  readonly #publication: Publication;
  readonly #servers = new Map<string, Process[]>();
  #agent: Process | undefined;
  #stream: Process | undefined;

  private constructor(lab: Lab, publication: Publication) {
    this.#lab = lab;
    this.#publication = publication;
  }

  /** Brings everything up; returns when the first connection to the VIP has been answered. */
  static async open(source: SourceName): Promise<Stage> {
    const lab = await Lab.create(labSpec());
    let publication: Publication | undefined;
    try {
      publication =
        source === "manifests"
          ? new Manifests(lab.directory)
          : await PublishingControlPlane.start(lab.node(HOME.cluster, CONTROL_PLANE));
      const stage = new Stage(lab, publication);
      await stage.#start();
      return stage;
    } catch (error) {
      await publication?.[Symbol.asyncDispose]();
      await lab.remove();
      throw error;
    }
  }

  /** True while the cluster's servers run. */
  isUp(cluster: Cluster): boolean {
    return this.#servers.has(cluster.id);
  }

  /**
   * Scales a cluster to nothing, or back. As in a real cluster, endpoints are declared gone before servers
   * stop, and declared ready after they have started. Gives the moment just before the cluster's slice was
   * written, and what is still to be done.
   */
  async scale(cluster: string, up: boolean): Promise<{ changed: number; rest: Promise<void> }> {
    if (up) await this.#startServers(cluster);
    const changed = now();
    await this.#publication.write(this.#scenario.slice(cluster, up));
    return { changed, rest: up ? Promise.resolve() : this.#stopServers(cluster) };
  }

  /** Opens a connection that stays. */
  async hold(): Promise<void> {
    const client = this.#client.spawn(request("--hold", `http://${VIP}:80`));
    this.held.push(new Held(client, await client.line(/"line":1\}/)));
  }

  /** The service's rules, as anyone on the node can see them. */
  async rules(): Promise<string[]> {
    const saved = await this.#node.exec(["iptables-save", "-t", "nat"]);
    return saved.split("\n").filter((line) => line.includes("shop/web:http"));
  }

  /** Ends the stream of new connections; every one that was begun is then in `attempts`, a hung one too. */
  async finish(): Promise<void> {
    await this.#stream?.stop();
  }

  /** Throws if the agent has ended. */
  async checkAgent(): Promise<void> {
    const agent = this.#agent;
    if (agent === undefined) return;
    const exit = await Promise.race([agent.exited, sleep(0)]);
    if (exit === undefined) return;
    throw new Error(
      `the agent has ended (${exit.signal ?? `code ${exit.code}`}):\n${agent.errors}`,
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
    await this.#publication.write(...this.#scenario.objects);
    this.#agent = this.#node.spawn([
      `${ROOT}/bin/clusterset-agent`,
      "run",
      ...this.#publication.flags,
      `--node-name=${HOME.node}`,
      "--clusterset-cidr=241.0.0.0/8,fd00:241::/108",
    ]);
    await Promise.all(CLUSTERS.map(({ id }) => this.#startServers(id)));
    await this.#firstAnswer();
    const limits = ["--rate", String(RATE), "--for", String(LONGEST_RUN), "--timeout", "2000"];
    this.#stream = this.#client.spawn(request(...limits, `tcp://${VIP}:80`));
    this.#stream.onLine((line) => {
      const attempt = parseAttempt(line);
      if (attempt !== undefined) this.attempts.push(attempt);
    });
  }

  async #firstAnswer(): Promise<void> {
    for (let tries = 0; tries < 50; tries++) {
      await this.checkAgent();
      const first = await this.#client.run(request("--timeout", "200", `tcp://${VIP}:80`));
      if (first.code === 0) return;
    }
    throw new Error(`the agent has not programmed ${VIP}:\n${this.#agent?.errors}`);
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
    await sleep(GRACE);
    const servers = this.#servers.get(cluster) ?? [];
    this.#servers.delete(cluster);
    await Promise.all(servers.map((server) => server.stop()));
  }
}
