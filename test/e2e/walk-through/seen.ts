import assert from "node:assert/strict";
import type { Clusters } from "../../cluster/clusters.ts";
import { blocksOf } from "../guide.ts";
import { Reader } from "../reader.ts";
import { ownRules } from "../rules.ts";

interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
}

/** A user's view of a namespace: objects by kubectl, and a node's rules by iptables-save. */
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

  /** A field, as `-o jsonpath` prints it. */
  field(cluster: string, object: string, path: string): Promise<string> {
    return this.kubectl(cluster, "get", object, "-o", `jsonpath={${path}}`);
  }

  /** The one address of an import. */
  async vip(cluster: string, name: string): Promise<string> {
    const vip = await this.field(cluster, `serviceimport/${name}`, ".spec.ips[*]");
    assert.match(vip, /^[\d.]+$/, `${cluster}: ${name}`);
    return vip;
  }

  /** The names of an app's pods that are not being deleted, in order. */
  async pods(cluster: string, app: string): Promise<string[]> {
    const all = await this.kubectl(cluster, "get", "pods", "-l", `app=${app}`, "-o", "json");
    const { items } = JSON.parse(all) as { items: Pod[] };
    const alive = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return alive.map(({ metadata }) => metadata.name).sort();
  }

  /** Rules of ours for the namespace, on the first node of a cluster. */
  async rules(cluster: string): Promise<string[]> {
    const all = await ownRules(this.#clusters.cluster(cluster).node("node-1"));
    return all.split("\n").filter((line) => line.includes(`"${this.#namespace}/`));
  }
}

/** The guide of these walk-throughs. */
export const GUIDE = "walk-throughs.md";

/** A user who follows it, also with a shell on the first node of cluster-1. */
export function readerOf(clusters: Clusters): Reader {
  return new Reader(clusters, GUIDE, { node: clusters.cluster("cluster-1").node("node-1") });
}

/** Commands of a story that were not followed. */
export function unread(reader: Reader, story: string): string[] {
  return blocksOf(GUIDE, story).filter((block) => reader.left.includes(block));
}
