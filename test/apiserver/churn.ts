import assert from "node:assert/strict";
import type { Chance } from "../generators/chance.ts";
import { eventually } from "../stages/agent-process.ts";
import { publishedState } from "./published-state.ts";
import { EXPORT, SLICE, type StagedCluster } from "./staged-cluster.ts";

/** A Service of one cluster, as it should be at the moment. */
interface Served {
  addresses: readonly string[];
  exported: boolean;
  sticky: boolean;
}

/** Of endpoints, sorted, by name. */
type Addresses = Readonly<Record<string, readonly string[]>>;

/** What a `Churn` is made of. Names are `namespace/name`; each Service may be in each cluster. */
export interface ChurnOptions {
  readonly clusters: readonly StagedCluster[];
  readonly changing: readonly string[];
  /** Exported by all clusters, all the while: only their endpoints change. */
  readonly steady?: readonly string[];
  readonly chance: Chance;
}

/** Longer than the longest backoff of a machine that is busy, after ten seconds that a second look may take. */
const PATIENCE_MS = 40_000;
/** Endpoints of a Service that takes more than one slice. */
const MANY = 120;

/**
 * Random changes by users: Services are created, deleted, exported and withdrawn, and their endpoints change. It records the
 * changes, and so the expected state.
 */
export class Churn {
  readonly #clusters: readonly StagedCluster[];
  readonly #names: readonly string[];
  readonly #steady: ReadonlySet<string>;
  readonly #chance: Chance;
  /** By cluster and name. */
  readonly #served = new Map<string, Served>();

  constructor({ clusters, changing, steady = [], chance }: ChurnOptions) {
    this.#clusters = clusters;
    this.#names = [...changing, ...steady];
    this.#steady = new Set(steady);
    this.#chance = chance;
  }

  /** Makes the namespaces, and what stays. */
  async prepare(): Promise<void> {
    for (const cluster of this.#clusters) {
      for (const namespace of new Set(this.#names.map(namespaceOf))) {
        await cluster.namespace(namespace);
      }
      for (const key of this.#steady) await this.appear(cluster, key);
    }
  }

  /** A Service appears in a cluster, and is exported. */
  async appear(cluster: StagedCluster, key: string): Promise<void> {
    const addresses = this.#addresses(cluster);
    await cluster.serve(key, addresses);
    await cluster.export(key);
    this.#served.set(`${cluster.id} ${key}`, { addresses, exported: true, sticky: false });
  }

  /** One change, by chance. */
  async change(): Promise<void> {
    const chance = this.#chance;
    const cluster = pick(this.#clusters, chance);
    const key = pick(this.#names, chance);
    const served = this.#served.get(`${cluster.id} ${key}`);
    if (served === undefined) await this.appear(cluster, key);
    else await this.#changeOf(cluster, key, served);
  }

  async #changeOf(cluster: StagedCluster, key: string, served: Served): Promise<void> {
    const roll = this.#chance.below(100);
    if (this.#steady.has(key) || roll < 60) await this.scale(cluster, key);
    else if (roll < 80) await this.#toggle(cluster, key, served);
    else if (roll < 90) await this.#stick(cluster, key, served);
    else await this.#vanish(cluster, key, served);
  }

  /** A Service has other endpoints. */
  async scale(cluster: StagedCluster, key: string): Promise<void> {
    const served = this.#served.get(`${cluster.id} ${key}`);
    const addresses = this.#addresses(cluster);
    await cluster.endpoints(key, addresses);
    if (served !== undefined) served.addresses = addresses;
  }

  /** All Services of a cluster have other endpoints, at once. */
  async scaleAll(cluster: StagedCluster): Promise<void> {
    const names = this.#names.filter((key) => this.#served.has(`${cluster.id} ${key}`));
    await Promise.all(names.map((key) => this.scale(cluster, key)));
  }

  /** What every cluster should have imported: by name, the addresses of all endpoints, sorted. */
  expected(): Addresses {
    const found: Record<string, string[]> = {};
    for (const key of [...this.#names].sort()) {
      for (const { id } of this.#clusters) {
        const served = this.#served.get(`${id} ${key}`);
        if (served?.exported !== true) continue;
        found[key] ??= [];
        found[key].push(...served.addresses);
      }
      found[key]?.sort();
    }
    return found;
  }

  /** Waits until each cluster has imported just that, and nobody writes. `others`: whose logs tell, too, why it is not so. */
  async settled(...others: readonly StagedCluster[]): Promise<void> {
    const namespaces = new Set(this.#names.map(namespaceOf));
    for (const cluster of this.#clusters) {
      await eventually(async () => {
        const { imported } = await publishedState(cluster);
        const ours = Object.entries(imported).filter(([key]) => namespaces.has(namespaceOf(key)));
        const found = Object.fromEntries(ours);
        const differing = differences(found, this.expected());
        const logs = [...this.#clusters, ...others].map(({ id, log }) => `${id}:\n${log}`);
        assert.ok(differing.length === 0, [cluster.id, ...differing, ...logs].join("\n"));
      }, PATIENCE_MS);
    }
    await Promise.all(this.#clusters.map((cluster) => cluster.atRest()));
  }

  async #toggle(cluster: StagedCluster, key: string, served: Served): Promise<void> {
    if (served.exported) await cluster.plane.admin.delete(reference(EXPORT, key));
    else await cluster.export(key);
    served.exported = !served.exported;
  }

  /** Clusters come to disagree on the session affinity, or to agree. */
  async #stick(cluster: StagedCluster, key: string, served: Served): Promise<void> {
    const sessionAffinity = served.sticky ? "None" : "ClientIP";
    await cluster.serve(key, served.addresses, { sessionAffinity });
    served.sticky = !served.sticky;
  }

  /** The Service and its slice are deleted; the export, if there is one, is left alone or deleted, too. */
  async #vanish(cluster: StagedCluster, key: string, served: Served): Promise<void> {
    const { admin } = cluster.plane;
    await admin.delete(reference({ apiVersion: "v1", kind: "Service" }, key));
    await admin.delete(reference(SLICE, `${key}-1`));
    if (served.exported && this.#chance.percent(50)) await admin.delete(reference(EXPORT, key));
    this.#served.delete(`${cluster.id} ${key}`);
  }

  #addresses({ id }: StagedCluster): string[] {
    const chance = this.#chance;
    const count = chance.percent(4) ? MANY : 1 + chance.below(4);
    const first = chance.below(250 * 250);
    return Array.from({ length: count }, (_, i) => {
      const place = first + i;
      return `10.${id.slice(1)}.${Math.floor(place / 250)}.${1 + (place % 250)}`;
    });
  }
}

/** The differences, one line for each name: Node prints them only for failures without a message. */
function differences(found: Addresses, expected: Addresses): string[] {
  const names = [...new Set([...Object.keys(found), ...Object.keys(expected)])];
  const said = (addresses: readonly string[] | undefined) => addresses?.join() ?? "no import";
  return names
    .filter((key) => said(found[key]) !== said(expected[key]))
    .map((key) => `${key}: ${said(found[key])}, expected ${said(expected[key])}`);
}

function pick<T>(all: readonly T[], chance: Chance): T {
  const found = all[chance.below(all.length)];
  if (found === undefined) throw new Error("there is nothing to choose from");
  return found;
}

function namespaceOf(key: string): string {
  return key.split("/")[0] ?? "";
}

function reference(kind: { readonly apiVersion: string; readonly kind: string }, key: string) {
  const [namespace = "", name = ""] = key.split("/");
  return { ...kind, metadata: { namespace, name } };
}
