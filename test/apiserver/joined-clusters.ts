import { renameSync, writeFileSync } from "node:fs";
import { manifest } from "../generators/objects.ts";
import { CommandLine, type Ran } from "../stages/command-line.ts";
import type { ApiObject } from "./api-client.ts";
import { ControlPlane, type ControlPlaneOptions } from "./control-plane.ts";
import { OURS } from "./release.ts";
import { mountedKubeconfig } from "./service-account.ts";
import { StagedCluster } from "./staged-cluster.ts";

/** Where agents and controllers are. */
const OWN = "clusterset-proxy";

/** A cluster that has nothing of ours yet. */
interface Blank {
  readonly id: string;
  readonly plane: ControlPlane;
  /** The controller, once it was started. */
  cluster?: StagedCluster;
}

/**
 * Empty API servers, a user with their contexts, which are their IDs, and controllers that get nothing but what `kubectl clusterset`
 * writes: the token of their service account, ClusterProperties, Secrets.
 */
export class JoinedClusters implements AsyncDisposable {
  readonly user: CommandLine;
  readonly #all: readonly Blank[];

  private constructor(all: readonly Blank[]) {
    this.#all = all;
    const kubeconfigs = all.map(({ id, plane }) => [id, plane.inlineKubeconfig()]);
    this.user = new CommandLine(Object.fromEntries(kubeconfigs));
  }

  /** Starts an API server with a controller manager for each context. `servers`: older ones, by context. */
  static async open(
    ids: readonly string[],
    servers: Readonly<Record<string, ControlPlaneOptions["server"]>> = {},
  ): Promise<JoinedClusters> {
    const all: Blank[] = [];
    try {
      // One after the other: of several that look for a free port at once, two might find the same.
      for (const [i, id] of ids.entries()) {
        const plane = await ControlPlane.start({ controllerManager: true, server: servers[id] });
        all.push({ id, plane });
        await plane.admin.apply(nodeOf(i + 1));
      }
    } catch (error) {
      await Promise.all(all.map(({ plane }) => plane.remove()));
      throw error;
    }
    return new JoinedClusters(all);
  }

  plane(id: string): ControlPlane {
    return this.#blank(id).plane;
  }

  /** The cluster, whose controller was started. */
  cluster(id: string): StagedCluster {
    const { cluster } = this.#blank(id);
    if (cluster === undefined) throw new Error(`the controller of ${id} was not started`);
    return cluster;
  }

  /** All objects of these kinds in a cluster, such as `apps/v1 Deployment`. */
  async objects(id: string, kinds: readonly string[]): Promise<ApiObject[]> {
    const lists = kinds.map((one) => {
      const [apiVersion = "", kind = ""] = one.split(" ");
      return this.plane(id).admin.list({ apiVersion, kind });
    });
    return (await Promise.all(lists)).flat();
  }

  /** A command that is to succeed. */
  async run(...argv: readonly string[]): Promise<Ran> {
    const ran = await this.user.run(...argv);
    if (ran.code !== 0) throw new Error(`${argv.join(" ")}: ${ran.code}\n${ran.out}${ran.note}`);
    return ran;
  }

  /** Starts the controllers of these clusters with the rights and objects that they were given. */
  async start(ids: readonly string[], registry: "mesh" | "hub" = "mesh"): Promise<void> {
    for (const id of ids) {
      const blank = this.#blank(id);
      const { plane } = blank;
      const kubeconfig = await mountedKubeconfig(plane, `${OWN}/clusterset-controller`);
      const flags = ["--kubeconfig", kubeconfig, "--registry", registry];
      if (registry === "hub") flags.push("--hub-kubeconfig", await this.mountHub(id));
      blank.cluster = new StagedCluster({ id, plane, program: OURS.controller, flags });
      await blank.cluster.launch();
    }
  }

  /** Writes the file of the Secret of the hub, as a kubelet does now and then; returns its path. */
  async mountHub(id: string): Promise<string> {
    const { plane } = this.#blank(id);
    const file = `${plane.directory}/hub.kubeconfig`;
    writeFileSync(`${file}.new`, await hubKubeconfig(plane), { mode: 0o600 });
    renameSync(`${file}.new`, file);
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map(async ({ cluster }) => cluster?.kill()));
    this.user[Symbol.dispose]();
    await Promise.all(this.#all.map(({ plane }) => plane.remove()));
  }

  #blank(id: string): Blank {
    const found = this.#all.find((one) => one.id === id);
    if (found === undefined) throw new Error(`there is no cluster ${id}`);
    return found;
  }
}

function nodeOf(n: number): object {
  const { metadata, ...node } = manifest("Node", `node-${n}`);
  const labels = { "topology.kubernetes.io/region": `region-${n}` };
  const [podCIDR] = [`10.${n}.3.0/24`];
  return { ...node, metadata: { ...metadata, labels }, spec: { podCIDR, podCIDRs: [podCIDR] } };
}

/** The file that the Secret becomes in a pod of the controller. */
async function hubKubeconfig({ admin }: ControlPlane): Promise<string> {
  const secret = await admin.get(manifest("Secret", `${OWN}/hub`));
  const { data } = secret as unknown as { data: Record<string, string> };
  return Buffer.from(data["hub.kubeconfig"] ?? "", "base64").toString();
}
