import assert from "node:assert/strict";
import type { Clusters } from "../cluster/clusters.ts";
import { eventually } from "../stages/agent-process.ts";
import type { Call } from "./caller.ts";
import { blocksOf } from "./guide.ts";
import { Reader } from "./reader.ts";
import { ownRules } from "./rules.ts";

/** Enough that each of four pods is among those that answer, but for one run in 10⁶. */
const CALLS = 60;

/** How long a call may take: longer than a resolver waits before it asks again, 5 s. */
export const TIMEOUT_MS = 12_000;

/** What became of a call of a client's. */
export interface ClientCall extends Call {
  /** The address that the pod saw that answered. */
  readonly source?: string;
}

/** The response of a DNS server for one name and one type of record. */
export interface DnsAnswer {
  readonly records?: readonly string[];
  /** `ENOTFOUND`: there is no such name. `ENODATA`: there is, and it has no such record. */
  readonly error?: string;
}

/** A pod named `client` that calls on request, by `kubectl exec`, and resolves names. */
export class Client {
  readonly #exec: (command: string) => Promise<string>;

  constructor(clusters: Clusters, cluster: string, namespace: string) {
    this.#exec = (command) =>
      clusters.kubectl(cluster, ["-n", namespace, "exec", "client", "--", "sh", "-c", command]);
  }

  /** One connection after the other; what became of each. */
  async calls(target: string, count = CALLS): Promise<ClientCall[]> {
    // Its exit code shows that a call failed, and so do its lines.
    const said = await this.#exec(
      `node /app/request/request.ts --count ${count} --timeout ${TIMEOUT_MS} '${target}' || :`,
    );
    const lines = said.split("\n").slice(0, -1);
    const calls = lines.map((line) => JSON.parse(line)).filter((line) => "at" in line);
    assert.equal(calls.length, count, said);
    return calls;
  }

  /** Waits until each of these pods answers, in the order of their names, and no other one; none of the calls may fail. */
  async untilAnsweredBy(pods: readonly string[], target: string): Promise<void> {
    await eventually(async () => {
      const calls = await this.calls(target);
      const failed = calls.find(({ error }) => error !== undefined);
      assert.equal(failed, undefined, `${target}: ${JSON.stringify(failed)}`);
      assert.deepEqual([...new Set(calls.map(({ name = "" }) => name))].sort(), pods);
    });
  }

  /** What the cluster's DNS server answers to questions such as `A:web.shop.svc.clusterset.local`, in their order. */
  async resolve(...questions: readonly string[]): Promise<DnsAnswer[]> {
    const said = await this.#exec(`node /app/request/resolve.ts ${questions.join(" ")}`);
    const lines = said.trim().split("\n");
    return lines.map((line) => JSON.parse(line));
  }
}

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
