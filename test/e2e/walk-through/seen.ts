import assert from "node:assert/strict";
import type { ClusterNode } from "../../cluster/cluster-node.ts";
import type { Clusters } from "../../cluster/clusters.ts";

interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status: { readonly podIP?: string };
}

/** A user's view: objects by kubectl, and a node's rules by iptables-save. */
export class Seen {
  readonly #clusters: Clusters;
  readonly #namespace: string;

  constructor(clusters: Clusters, namespace: string) {
    this.#clusters = clusters;
    this.#namespace = namespace;
  }

  /** What kubectl prints in the namespace. */
  kubectl(cluster: string, ...args: readonly string[]): Promise<string> {
    return this.#clusters.kubectl(cluster, ["-n", this.#namespace, ...args]);
  }

  /** An object, or a list of them. */
  async get<T = unknown>(cluster: string, ...args: readonly string[]): Promise<T> {
    return JSON.parse(await this.kubectl(cluster, "get", ...args, "-o", "json"));
  }

  /** A field, as `-o jsonpath` prints it. */
  field(cluster: string, object: string, path: string): Promise<string> {
    return this.kubectl(cluster, "get", object, "-o", `jsonpath={${path}}`);
  }

  /** Names of the objects of a kind: kind/name. */
  async names(cluster: string, ...args: readonly string[]): Promise<string[]> {
    return (await this.kubectl(cluster, "get", ...args, "-o", "name"))
      .split("\n")
      .filter((name) => name !== "")
      .sort();
  }

  /** The one address of an import. */
  async vip(cluster: string, name: string): Promise<string> {
    const vip = await this.field(cluster, `serviceimport/${name}`, ".spec.ips[*]");
    assert.match(vip, /^[\d.]+$/, `${cluster}: ${name}`);
    return vip;
  }

  /** The pods of an app that are not being deleted, in order. */
  async pods(cluster: string, app: string): Promise<{ names: string[]; addresses: string[] }> {
    const { items } = await this.get<{ items: Pod[] }>(cluster, "pods", "-l", `app=${app}`);
    const alive = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return {
      names: alive.map(({ metadata }) => metadata.name).sort(),
      addresses: alive.flatMap(({ status }) => status.podIP ?? []).sort(),
    };
  }

  /** `iptables-save | grep`, on the first node of a cluster: what is ours of it, in order. */
  async rules(cluster: string, text: string): Promise<string[]> {
    return rulesOn(this.#clusters.cluster(cluster).node("node-1"), text);
  }
}

/** kube-proxy's rules tell of the cluster's own Services, and are not meant. */
async function rulesOn(node: ClusterNode, text: string): Promise<string[]> {
  const lines = await node.host.exec(["sh", "-c", `iptables-save | grep ${text} || :`]);
  return lines.split("\n").filter((line) => /^(-A|:) ?\S*CSP-/.test(line));
}
