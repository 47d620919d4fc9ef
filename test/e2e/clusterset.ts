import assert from "node:assert/strict";
import { Clusters, type ClustersOptions } from "../cluster/clusters.ts";
import { clusterCidrs } from "../cluster/spec.ts";
import { manifest } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { assertNone, type Denied, deniedIn } from "./denied.ts";
import { blockWith, functionOf } from "./guide.ts";
import { productImages } from "./images.ts";
import { Kustomization } from "./kustomization.ts";
import { paste } from "./reader.ts";

const PATIENCE_MS = 60_000;
/** Longer than a rollout takes on a machine that does other things, too. */
const ROLLOUT = "--timeout=180s";

export interface ClustersetOptions extends ClustersOptions {
  /** Folders of deploy/components that an operator adds, such as `dual-stack`. */
  readonly components?: readonly string[];
}

/**
 * Real clusters that are a clusterset: a mesh, with agents on all nodes and two controllers in each, by the commands of
 * docs/guides/install.md, but side by side. `install.test.ts` shows that guide itself. At its end it throws if an API server
 * has refused us anything that no test has announced.
 *
 *     await using set = await Clusterset.create({ clusters: 2, nodes: 2, regions: ["eu-west", "us-east"] });
 *     await set.shell("kubectl --context cluster-1 create namespace demo");
 */
export class Clusterset implements AsyncDisposable {
  readonly clusters: Clusters;
  readonly #overlay: Kustomization;
  readonly #provoked: ((denied: Denied) => boolean)[] = [];

  private constructor(clusters: Clusters, { components = [] }: ClustersetOptions) {
    this.clusters = clusters;
    this.#overlay = new Kustomization("mesh", components);
  }

  /** Returns when agents and controllers are ready in all clusters. */
  static async create(options: ClustersetOptions = {}): Promise<Clusterset> {
    const images = [...(await productImages()), ...(options.images ?? [])];
    const clusters = await Clusters.create({ ...options, images });
    const set = new Clusterset(clusters, options);
    try {
      await set.install(set.ids);
    } catch (error) {
      await set.#end();
      throw error;
    }
    return set;
  }

  /** The clusters' ids, which are the contexts of kubectl as well. */
  get ids(): readonly string[] {
    return this.clusters.all.map(({ id }) => id);
  }

  /** Makes these members of the clusterset, known to all that are in it. */
  async install(ids: readonly string[]): Promise<void> {
    await this.#each(
      ids,
      (id) => `deploy/crds/install ${id}\nkubectl --context ${id} apply -k ${this.#overlay.folder}`,
    );
    await Promise.all(
      ids.map(async (id) => {
        // One by one: each applies the registry of the one that it introduces, and two would both create it.
        for (const peer of ids) if (peer !== id) await this.introduce(id, peer);
      }),
    );
    await this.#each(
      ids,
      (id) => `${functionOf("install.md", "identity")}
identity ${id} ${this.clusters.cluster(id).plan.region}
kubectl --context ${id} apply -k deploy/coredns
deploy/coredns/names add ${id}
kubectl --context ${id} -n clusterset-proxy rollout status ${ROLLOUT} daemonset/clusterset-agent
kubectl --context ${id} -n clusterset-proxy rollout status ${ROLLOUT} deployment/clusterset-controller`,
    );
  }

  /** Lets a cluster's peer read its registry. */
  async introduce(id: string, peer: string): Promise<void> {
    const { plan, plane } = this.clusters.cluster(id);
    await this.shell(`${blockWith("mesh-or-hub.md", "registry_kubeconfig()")}
${functionOf("install.md", "introduce")}
introduce ${id} ${plane.url} ${clusterCidrs(plan).join()} ${peer}`);
  }

  /** The IPv4 VIP of an import, `namespace/name`, as soon as it has one. */
  vipOf(id: string, key: string): Promise<string> {
    const { admin } = this.clusters.cluster(id);
    return eventually(async () => {
      const { spec } = await admin.get(manifest("ServiceImport", key));
      const [vip = ""] = (spec as { ips?: string[] }).ips ?? [];
      assert.match(vip, /^241\./);
      return vip;
    }, PATIENCE_MS);
  }

  /** Runs the commands of a person, in the top folder of the repository. Gives what was printed; throws if one fails. */
  shell(commands: string): Promise<string> {
    return paste(this.clusters, commands);
  }

  /**
   * What API servers have refused agents, controllers, peers and DNS, but for what a test has announced: nothing, or their
   * rights are not those they need.
   */
  denied(): readonly Denied[] {
    const all = this.clusters.all.flatMap(({ plane }) =>
      deniedIn(plane.auditFile, (at) => plane.wasStarting(at)),
    );
    return all.filter((denied) => !this.#provoked.some((such) => such(denied)));
  }

  /** Announces what a test will have refused on purpose, from now until the result is called. */
  provoke(such: (denied: Denied) => boolean): () => void {
    const from = Date.now();
    let to = Number.POSITIVE_INFINITY;
    this.#provoked.push((denied) => denied.at >= from && denied.at <= to && such(denied));
    return () => {
      to = Date.now();
    };
  }

  /** Removes everything. Throws, once that is done, if anything was denied. May be repeated. */
  async remove(): Promise<void> {
    const denied = this.denied();
    await this.#end();
    assertNone(denied);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
  }

  async #end(): Promise<void> {
    await this.clusters.remove();
    this.#overlay[Symbol.dispose]();
  }

  async #each(ids: readonly string[], commands: (id: string) => string): Promise<void> {
    await Promise.all(ids.map((id) => this.shell(commands(id))));
  }
}
