import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import { type ImportWanted, importOf } from "../import/import-of.ts";
import {
  type Contribution,
  type ImportedSlices,
  importedSlices,
} from "../import/imported-slices.ts";
import { type News, newsworthy } from "../import/newsworthy.ts";
import { omissionsOf } from "../import/omissions.ts";
import { staleInPlace } from "../import/stale-in-place.ts";
import { importStatus } from "../import/status-manifest.ts";
import type { MergedService } from "../merge/merged.ts";
import type { Manifest } from "../model/manifest.ts";
import type { Seen } from "../stores/fact-store.ts";
import type { OwnCluster } from "../stores/own-cluster.ts";
import type { Applier } from "./applier.ts";
import { inParallel } from "./in-parallel.ts";
import { OmissionReport, type Omissions } from "./omission-report.ts";
import type { VipBook } from "./vip-book.ts";

/** What all clusters say of one name. */
export interface Exports {
  readonly merged: MergedService | undefined;
  readonly contributions: readonly Contribution[];
  /** What is left out of a cluster's share. */
  readonly problems: Omissions;
  /** Whether it was known, at that moment, what a cluster does not export. */
  readonly isHeard: (cluster: string) => boolean;
  /** True if it was known of every cluster. */
  readonly allHeard: boolean;
}

/** What an `Importer` is made of. */
export interface ImporterOptions {
  readonly own: OwnCluster;
  readonly imports: Applier;
  readonly slices: Applier;
  readonly vips: VipBook;
  /** What is known, as of now, of what clusters export by a name. */
  readonly exports: (key: ObjectKey) => Exports;
  /** True for a cluster whose Lease is silent. */
  readonly isStale: (cluster: string) => boolean;
  /** The time of day in milliseconds since 1970, for conditions. */
  readonly today: () => number;
  /** What is left out of a cluster's share of a name. */
  readonly problems: (cluster: string, object: string, problems: readonly Problem[]) => void;
  /** What whoever looks at an import should hear of. */
  readonly news: (object: Seen, news: readonly News[]) => void;
  /** The status of an import was written: whose it is may be somebody else's. */
  readonly attributed: (key: ObjectKey) => void;
  /** What was made of a name; undefined: there is, and should be, nothing. */
  readonly imported: (key: ObjectKey, wanted: ImportWanted | undefined) => void;
}

/** Imports into our cluster what all clusters export: a ServiceImport and its slices. */
export class Importer {
  readonly #options: ImporterOptions;
  readonly #omissions: OmissionReport;
  readonly #reserving = new Set<ObjectKey>();

  constructor(options: ImporterOptions) {
    this.#options = options;
    this.#omissions = new OmissionReport(options.problems);
  }

  /** Makes what is imported by one name what it should be. Throws what the API server answered. */
  async reconcile(key: ObjectKey): Promise<void> {
    const { own, imported, vips } = this.#options;
    const [namespace = ""] = key.split("/");
    // What is in a namespace that goes, goes with it.
    if (!own.takesObjects(namespace)) {
      this.#reserve(key, []);
      this.#omissions.report(key);
      imported(key, undefined);
      return;
    }
    const seen = own.imports.fact(key);
    // All of it from one moment: who is heard by the time that something is written may not have been when it was read.
    const exports = this.#options.exports(key);
    const { merged, contributions, problems, isHeard } = exports;
    this.#reserve(key, []);
    const wanted = importOf({
      key,
      ...(merged !== undefined && { merged }),
      ...(seen !== undefined && { seen }),
      isHeard,
      allHeard: this.isAllHeard(key, exports),
      pool: vips.pool,
    });
    const importing = wanted?.importing;
    const slices = importing && importedSlices(importing, contributions);
    this.#omissions.report(key, problems, omissionsOf(slices?.omitted ?? []));
    // Until the import is seen with them, nobody else is given its VIPs: of a write that fails, nobody knows whether it was done.
    this.#reserve(key, ipsOf(wanted?.object));
    await this.#write(key, wanted, slices?.slices ?? [], isHeard);
    if (own.imports.fact(key) !== undefined) this.#reserve(key, []);
    imported(key, wanted);
  }

  /** Names for which VIPs are kept that no import is seen with. */
  get reserving(): Iterable<ObjectKey> {
    return this.#reserving;
  }

  #reserve(key: ObjectKey, ips: readonly string[]): void {
    this.#options.vips.take(`reserved for ${key}`, ips);
    if (ips.length > 0) this.#reserving.add(key);
    else this.#reserving.delete(key);
  }

  /**
   * True if nobody can be exporting this name without our knowing: all clusters are heard, or at least all whose part in it
   * shows here. A cluster that is dead for good, or has never said a word, must not keep what others have withdrawn.
   */
  isAllHeard(key: ObjectKey, { allHeard, isHeard }: Exports): boolean {
    const { own } = this.#options;
    if (allHeard) return true;
    const clusters = own.imports.fact(key)?.clusters ?? [];
    const sources = own.importedSlices.factsOf(key).map(({ cluster }) => cluster);
    // Nothing shows in an import whose status was not written yet.
    return clusters.length > 0 && [...clusters, ...sources].every(isHeard);
  }

  async #write(
    key: ObjectKey,
    wanted: ImportWanted | undefined,
    list: ImportedSlices["slices"],
    isHeard: Exports["isHeard"],
  ): Promise<void> {
    const { own, imports, slices } = this.#options;
    const { object, remove, reason, status } = wanted ?? {};
    // First: once its marks are gone, nobody knows any more that its status is ours, should the second write fail.
    if (reason === "released" && status !== undefined) await this.#writeStatus(key, status);
    const seen = own.imports.seen(key);
    await Promise.all([
      object !== undefined && imports.apply(object, seen),
      inParallel(list, (slice) => slices.apply(slice, own.importedSlices.seen(keyOf(slice)))),
    ]);
    if (remove !== undefined && seen !== undefined) await imports.remove(seen);
    await this.#removeSlices(key, new Set(list.map(keyOf)), isHeard);
    await this.#ageSlices(key, isHeard);
    if (status !== undefined) await this.#writeStatus(key, status);
  }

  /** Slices of clusters that are not heard stay. */
  async #removeSlices(
    key: ObjectKey,
    kept: ReadonlySet<string>,
    isHeard: Exports["isHeard"],
  ): Promise<void> {
    const { own, slices } = this.#options;
    const gone = [...own.importedSlices.keysOf(key)].filter((slice) => {
      if (kept.has(slice)) return false;
      const cluster = own.importedSlices.fact(slice)?.cluster;
      return cluster === undefined || isHeard(cluster);
    });
    await inParallel(gone, async (slice) => {
      const seen = own.importedSlices.seen(slice);
      if (seen !== undefined) await slices.remove(seen);
    });
  }

  /** Slices of a cluster that was not heard since we began, and is silent for too long, stay and grow old. */
  async #ageSlices(key: ObjectKey, isHeard: Exports["isHeard"]): Promise<void> {
    const { own, slices, isStale } = this.#options;
    const old = own.importedSlices
      .factsOf(key)
      .filter(({ cluster, ready }) => ready && !isHeard(cluster) && isStale(cluster));
    await inParallel(old, async (slice) => {
      const seen = own.importedSlices.seen(slice.key);
      const manifest = seen && staleInPlace(await slices.read(seen));
      if (manifest !== undefined) await slices.apply(manifest, seen);
    });
  }

  async #writeStatus(key: ObjectKey, status: NonNullable<ImportWanted["status"]>): Promise<void> {
    const { own, imports, today } = this.#options;
    const fact = own.imports.fact(key);
    const seen = own.imports.seen(key);
    if (fact === undefined || seen === undefined) return;
    const written = await imports.applyStatus(importStatus(fact, status, today()), seen);
    const news = newsworthy(status.claims, fact.conditions);
    if (!written) return;
    this.#options.attributed(key);
    // That it has a VIP is what everybody expects.
    this.#options.news(
      seen,
      news.filter(({ level }) => level === "Warning"),
    );
  }
}

function ipsOf(manifest: Manifest | undefined): string[] {
  const spec = manifest?.spec;
  const ips = typeof spec === "object" && spec !== null && "ips" in spec ? spec.ips : undefined;
  return Array.isArray(ips) ? ips.filter((ip) => typeof ip === "string") : [];
}

function keyOf({ metadata: { namespace = "", name } }: Manifest): string {
  return `${namespace}/${name}`;
}
