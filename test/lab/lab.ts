import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { promisify } from "node:util";
import { Namespace } from "./namespace.ts";
import { deadRuns, Guard, newRun, type Run, removeRun, SCRATCH } from "./removal.ts";
import {
  type LabSpec,
  type NodeSpec,
  pathOf,
  placesOf,
  ROUTER,
  ROUTER_ADDRESSES,
  type Topology,
  topologyOf,
  type Wiring,
  wireNode,
  wirePod,
  wireRouter,
} from "./topology.ts";

/**
 * Clusters, nodes and pods as network namespaces of this machine, IPv4 and IPv6, joined by a router that
 * keeps source addresses. The machine's own namespace is not touched: no link of a lab is ever in it.
 *
 *     await using lab = await Lab.oneNode({ client: [] });
 *     await lab.pod("c1", "n1", "client").exec(["ip", "route"]);
 *
 * Needs root. Several labs, of one process or of many, do not see each other.
 */
export class Lab implements AsyncDisposable {
  readonly topology: Topology;
  /** A directory that is removed with the lab. */
  readonly directory: string;
  readonly #run: Run;
  readonly #guard: Guard;
  readonly #places: ReadonlyMap<string, Namespace>;

  private constructor(topology: Topology, run: Run) {
    this.topology = topology;
    this.directory = `${SCRATCH}/${run.id}`;
    this.#run = run;
    this.#guard = new Guard(run);
    this.#places = new Map(
      placesOf(topology).map((path) => {
        const id = namespaceName(run, path);
        // Shared by default, so that legacy iptables of all namespaces would wait for one another. The path also
        // marks all processes here as this run's, which removal relies on.
        const env = {
          XTABLES_LOCKFILE: `${this.directory}/${id}.lock`,
          CLUSTERSET_AGENT_LOCK_FILE: `${this.directory}/${id}.agent.lock`,
        };
        return [path, new Namespace(path, id, addressesOf(topology, path), env)];
      }),
    );
  }

  /** Brings a lab up, after removing what crashed runs have left. Throws on a spec that cannot be. */
  static async create(spec: LabSpec): Promise<Lab> {
    const lab = new Lab(topologyOf(spec), newRun());
    for (const run of deadRuns()) await removeRun(run);
    lab.#guard.start();
    try {
      await lab.#bringUp();
    } catch (error) {
      await lab.remove();
      throw error;
    }
    return lab;
  }

  /** A lab of the node n1 of a cluster c1, with these pods and their addresses. */
  static oneNode(pods: NodeSpec["pods"] & object = {}): Promise<Lab> {
    return Lab.create({ clusters: [{ id: "c1", nodes: [{ name: "n1", pods }] }] });
  }

  /** The id of the run: every namespace of the lab is called `<id>_<place>`. */
  get id(): string {
    return this.#run.id;
  }

  /** Throws on a name that is not in the spec, as all look-ups do. */
  node(cluster: string, node: string): Namespace {
    return this.#place(`${cluster}/${node}`);
  }

  pod(cluster: string, node: string, pod: string): Namespace {
    return this.#place(`${cluster}/${node}/${pod}`);
  }

  get router(): Namespace {
    return this.#place(ROUTER);
  }

  /** Kills everything that runs in the lab and removes it. May be repeated. */
  async remove(): Promise<void> {
    await removeRun(this.#run);
    this.#guard.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
  }

  #place(path: string): Namespace {
    const place = this.#places.get(path);
    if (place === undefined) throw new Error(`the lab has no ${path}`);
    return place;
  }

  async #bringUp(): Promise<void> {
    mkdirSync(this.directory, { recursive: true });
    const { nodes } = this.topology;
    const names = [...this.#places.values()].map(({ id }) => `netns add ${id}\n`);
    const ip = promisify(execFile)("ip", ["-batch", "-"]);
    ip.child.stdin?.end(names.join(""));
    await ip;
    const nameOf = (path: string) => namespaceName(this.#run, path);
    // From the router outwards: the namespace nearer to the router makes both ends of a link.
    await this.#wire([wireRouter(this.topology, nameOf)]);
    await this.#wire(nodes.map((node) => wireNode(this.topology, node, nameOf)));
    await this.#wire(nodes.flatMap((node) => node.pods.map((pod) => wirePod(node, pod))));
  }

  async #wire(wirings: readonly Wiring[]): Promise<void> {
    await Promise.all(
      wirings.map(({ path, settings, batch }) => {
        const writes = settings.map(([file, value]) => `echo ${value} >/proc/sys/net/${file} &&`);
        const script = `${writes.join("\n")}\nexec ip -batch -`;
        return this.#place(path).exec(["sh", "-c", script], { stdin: `${batch.join("\n")}\n` });
      }),
    );
  }
}

/** `_` is in no name of a cluster, node or pod, so no two places share a name. */
function namespaceName(run: Run, path: string): string {
  return `${run.id}_${path.replaceAll("/", "_")}`;
}

function addressesOf(topology: Topology, path: string) {
  if (path === ROUTER) return ROUTER_ADDRESSES;
  for (const node of topology.nodes) {
    if (pathOf(node) === path) return node.addresses;
    const pod = node.pods.find((one) => pathOf(node, one) === path);
    if (pod !== undefined) return pod.addresses;
  }
  return [];
}

/**
 * The router drops all packets from and to a cluster's nodes, without an error, as in a power failure. Processes continue unless
 * they are killed separately. Throws if the lab has no such cluster.
 */
export async function cutOff(lab: Lab, cluster: string): Promise<void> {
  await dropping("-I", lab, cluster);
}

/** Ends what `cutOff` began. */
export async function reconnect(lab: Lab, cluster: string): Promise<void> {
  await dropping("-D", lab, cluster);
}

async function dropping(verb: "-I" | "-D", lab: Lab, cluster: string): Promise<void> {
  // The router's links are called by the place of their node (topology.ts).
  const links = lab.topology.nodes.flatMap((node, i) =>
    node.cluster === cluster ? [`node${i}`] : [],
  );
  if (links.length === 0) throw new Error(`the lab has no cluster ${cluster}`);
  for (const link of links) {
    for (const direction of ["-i", "-o"]) {
      for (const iptables of ["iptables", "ip6tables"]) {
        await lab.router.exec([iptables, verb, "FORWARD", direction, link, "-j", "DROP"]);
      }
    }
  }
}
