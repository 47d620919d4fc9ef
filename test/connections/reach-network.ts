import { HEALTH_TABLE } from "../../agent/health/health-rules.ts";
import type { Setting } from "../backends.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { startServer } from "../lab/programs.ts";
import { ManifestDirectory } from "../stages/agent-process.ts";

/** Clusters with their regions; each has the nodes n1 and n2. */
export const REGIONS: Readonly<Record<string, string>> = {
  c1: "eu-west",
  c2: "eu-west",
  c3: "us-east",
};
const NODES = ["n1", "n2"];
/** Where clients and the agent are. */
export const HERE = "c1/n1";
/** The server's port, of both protocols. */
export const TARGET = 8080;

/** Where a Service has a pod: cluster and node, such as `c2/n1`; `c2/n1/2` for the second pod on this node. */
export type Places = readonly string[];

/** Places by name of the Service. */
export type Services = Readonly<Record<string, Places>>;

/** Three clusters whose pods serve. Scenarios run in it one after the other. */
export class ReachNetwork implements AsyncDisposable {
  readonly lab: Lab;
  readonly setting: Setting;
  readonly #names: readonly string[];
  #directories = 0;

  private constructor(lab: Lab, setting: Setting, services: Services) {
    this.lab = lab;
    this.setting = setting;
    this.#names = Object.keys(services);
  }

  static async create(setting: Setting, services: Services): Promise<ReachNetwork> {
    const all = Object.entries(services).flatMap(([name, places]) =>
      places.map((place) => ({ name, place })),
    );
    const podsOf = (node: string) => [
      ...all.filter(({ place }) => nodeOf(place) === node).map((one) => podOf(one.place, one.name)),
      ...(node === HERE ? ["a", "b"] : []),
    ];
    const lab = await Lab.create({
      clusters: Object.keys(REGIONS).map((id) => ({
        id,
        nodes: NODES.map((name) => {
          const pods = podsOf(`${id}/${name}`).map((pod) => [pod, []]);
          return { name, pods: Object.fromEntries(pods) };
        }),
      })),
    });
    const network = new ReachNetwork(lab, setting, services);
    const servers = all.map(({ name, place }) =>
      startServer(network.pod(place, name), "--name", place, "--udp", `${TARGET}`),
    );
    await Promise.all(servers);
    return network;
  }

  /** A node; `c1/n1` has clients and the agent. */
  node(place = HERE): Namespace {
    const [cluster = "", node = ""] = place.split("/");
    return this.lab.node(cluster, node);
  }

  /** A client, or a Service's pod at a place. */
  pod(place: string, name: string): Namespace {
    const [cluster = "", node = ""] = place.split("/");
    return this.lab.pod(cluster, node, podOf(place, name));
  }

  /** The VIP of a Service, in the family of the setting. */
  vipOf(service: string): string {
    const number = this.#names.indexOf(service) + 10;
    return this.setting.family === "IPv6" ? `fd00:241::${number}` : `241.0.0.${number}`;
  }

  /** A directory for an agent's manifests. */
  newDirectory(): ManifestDirectory {
    return new ManifestDirectory(this.lab, `manifests-${++this.#directories}`);
  }

  /** Ends all that scenarios did to the network, and forgets what the agent has learnt about it. */
  async heal(): Promise<void> {
    const forwarding = Object.keys(REGIONS)
      .flatMap((cluster) => NODES.map((node) => `${cluster}/${node}`))
      // Its filters are the agent's.
      .filter((place) => place !== HERE)
      .map((place) => this.node(place));
    await Promise.all([
      ...[this.lab.router, ...forwarding].map((one) =>
        one.exec(["sh", "-ec", "iptables -F FORWARD; ip6tables -F FORWARD"]),
      ),
      ...["ip", "ip6"].map((of) => this.node().run(["nft", "delete", "table", of, HEALTH_TABLE])),
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.remove();
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
