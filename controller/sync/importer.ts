import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import { SERVICE_IMPORTS } from "../../common/kubernetes/kinds.ts";
import { conditionEvents } from "../import/condition-events.ts";
import { deciderEvents } from "../import/decider-events.ts";
import { type DrainedCluster, withDrains } from "../import/drain-message.ts";
import { type ImportInput, type ImportWanted, importOf } from "../import/import-of.ts";
import { importedSlices } from "../import/imported-slices.ts";
import { nearestOf, type Viewpoint } from "../import/nearest.ts";
import { withOmissions } from "../import/omission-message.ts";
import { staleSlice } from "../import/slice-manifest.ts";
import { importStatus } from "../import/status-manifest.ts";
import type { Manifest } from "../model/manifest.ts";
import type { Dirty } from "../model/task.ts";
import type { Observer } from "../observe/observer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Applier } from "./applier.ts";
import type { EventRecorder } from "./event-recorder.ts";
import type { ExportedService } from "./exported-service.ts";
import { inParallel } from "./in-parallel.ts";
import type { NearestEvents } from "./nearest-events.ts";
import { OmissionReport } from "./omission-report.ts";
import type { TakenAddresses } from "./taken-addresses.ts";
import type { VipAddresses } from "./vip-addresses.ts";

/** Dependencies of an `Importer`. */
export interface ImporterOptions {
  readonly own: LocalStores;
  readonly imports: Applier;
  readonly slices: Applier;
  readonly addresses: TakenAddresses;
  readonly vips: VipAddresses;
  readonly exported: (key: ObjectKey) => ExportedService;
  /** This cluster, as the region of others is compared with. */
  readonly here: () => Viewpoint;
  /** False for a cluster that is stale or drained. */
  readonly isInRotation: (cluster: string) => boolean;
  readonly isSilent: ImportInput["isSilent"];
  readonly explicitVipCidrs: ImportInput["explicitVipCidrs"];
  /** Milliseconds since 1970. */
  readonly today: () => number;
  readonly recorder: EventRecorder;
  readonly nearest: NearestEvents;
  readonly dirty: Dirty;
  readonly events: Pick<Observer, "imported" | "problems">;
}

/** Imports what all clusters export: a ServiceImport and its slices. */
export class Importer {
  readonly #options: ImporterOptions;
  readonly #omissions: OmissionReport;
  readonly #reserving = new Set<ObjectKey>();

  constructor(options: ImporterOptions) {
    this.#options = options;
    this.#omissions = new OmissionReport(options.events);
  }

  /** Throws the API server's error. */
  async reconcile(key: ObjectKey): Promise<void> {
    const { addresses, events, explicitVipCidrs, exported, isSilent, own, vips } = this.#options;
    // Kubernetes deletes the content of a namespace.
    if (!own.takesObjects(namesOf(key).namespace)) {
      this.#reserve(key, []);
      if (own.imports.fact(key) === undefined) await vips.release(key, []);
      this.#omissions.report(key);
      events.imported(key, undefined);
      return;
    }
    const seen = own.imports.fact(key);
    const service = exported(key);
    const { merged, contributions, drained, problems, rejected, isSynced } = service;
    this.#reserve(key, []);
    const intended = importOf({
      key,
      ...(merged !== undefined && { merged }),
      ...(seen !== undefined && { seen }),
      isSynced,
      isSilent,
      allSynced: this.areAllSynced(key, service),
      pool: addresses.pool,
      explicitVipCidrs,
      held: vips.of(key),
      dispute: (vip) => own.disputeOf(vip, key),
    });
    const importing = intended?.importing;
    const slices = importing && importedSlices(importing, contributions);
    const omitted = [...problems.values(), slices?.omitted ?? []].flat();
    const reasons = [...omitted.map(({ reason }) => reason), ...rejected];
    const wanted = intended && withRemarks(intended, reasons, drained);
    this.#omissions.report(key, problems, slices?.omitted);
    // A failed write may have been done: its VIPs stay reserved until the import is seen.
    this.#reserve(key, ipsOf(wanted?.object));
    await vips.hold(key, wanted?.vips ?? []);
    await this.#write(key, wanted, slices?.slices ?? [], isSynced);
    if (wanted?.reason !== "not-heard") await vips.release(key, wanted?.vips ?? []);
    if (own.imports.fact(key) !== undefined) this.#reserve(key, []);
    const nearest = merged && nearestOf(contributions, this.#options.here());
    events.imported(key, wanted, nearest);
    this.#options.nearest.observe(key, own.imports.seen(key), nearest);
    if (wanted?.remove) events.imported(key, undefined);
    // As a user-managed import it may need a VIP.
    if (wanted?.reason === "released") this.#options.dirty("import", key);
  }

  /** Names with reserved VIPs that no import is seen with. */
  get reserving(): Iterable<ObjectKey> {
    return this.#reserving;
  }

  /**
   * True if no unknown cluster can export this name: all clusters are synced, or at least all that the import and its
   * slices name. Otherwise a cluster that is never synced would keep what others have withdrawn.
   */
  areAllSynced(key: ObjectKey, { allSynced, isSynced }: ExportedService): boolean {
    const { own } = this.#options;
    if (allSynced) return true;
    const clusters = own.imports.fact(key)?.clusters ?? [];
    const sources = own.importedSlices.factsOf(key).map(({ cluster }) => cluster);
    // An import without a status names no cluster yet.
    return clusters.length > 0 && [...clusters, ...sources].every(isSynced);
  }

  #reserve(key: ObjectKey, ips: readonly string[]): void {
    this.#options.addresses.take(`reserved for ${key}`, ips);
    if (ips.length > 0) this.#reserving.add(key);
    else this.#reserving.delete(key);
  }

  async #write(
    key: ObjectKey,
    wanted: ImportWanted | undefined,
    list: readonly Manifest[],
    isSynced: ExportedService["isSynced"],
  ): Promise<void> {
    const { own, imports, slices } = this.#options;
    const { object, remove, reason, status } = wanted ?? {};
    // Before the annotation goes, which shows that the status is ours.
    if (reason === "released" && status !== undefined) await this.#writeStatus(key, status);
    const seen = own.imports.seen(key);
    await Promise.all([
      object !== undefined && imports.apply(object, seen),
      inParallel(list, (slice) => slices.apply(slice, own.importedSlices.seen(keyOf(slice)))),
    ]);
    if (remove !== undefined && seen !== undefined) await imports.remove(seen);
    await this.#removeSlices(key, new Set(list.map(keyOf)), isSynced);
    await this.#ageSlices(key, isSynced);
    if (status !== undefined) await this.#writeStatus(key, status);
  }

  /** Slices of clusters that are not synced stay. */
  async #removeSlices(
    key: ObjectKey,
    kept: ReadonlySet<string>,
    isSynced: ExportedService["isSynced"],
  ): Promise<void> {
    const { own, slices } = this.#options;
    const gone = [...own.importedSlices.keysOf(key)].filter((slice) => {
      if (kept.has(slice)) return false;
      const cluster = own.importedSlices.fact(slice)?.cluster;
      return cluster === undefined || isSynced(cluster);
    });
    await inParallel(gone, async (slice) => {
      const seen = own.importedSlices.seen(slice);
      if (seen !== undefined) await slices.remove(seen);
    });
  }

  /** Marks the slices of stale and drained clusters that were not synced since the start. */
  async #ageSlices(key: ObjectKey, isSynced: ExportedService["isSynced"]): Promise<void> {
    const { isInRotation, own, slices } = this.#options;
    const old = own.importedSlices
      .factsOf(key)
      .filter(({ cluster, ready }) => ready && !isSynced(cluster) && !isInRotation(cluster));
    await inParallel(old, async (slice) => {
      const seen = own.importedSlices.seen(slice.key);
      const manifest = seen && staleSlice(await slices.read(seen));
      if (manifest !== undefined) await slices.apply(manifest, seen);
    });
  }

  async #writeStatus(key: ObjectKey, status: NonNullable<ImportWanted["status"]>): Promise<void> {
    const { dirty, own, imports, recorder, today } = this.#options;
    const fact = own.imports.fact(key);
    const seen = own.imports.seen(key);
    if (fact === undefined || seen === undefined) return;
    const written = await imports.applyStatus(importStatus(fact, status, today()), seen);
    if (!written) return;
    // `areAllSynced` depends on the clusters in the status.
    dirty("status", key);
    const events = conditionEvents(status.claims, fact.conditions);
    const warnings = events.filter(({ level }) => level === "Warning");
    const deciders = deciderEvents(fact.clusters, status.clusters ?? []);
    recorder.record(SERVICE_IMPORTS, seen, [...warnings, ...deciders]);
  }
}

/** An import whose condition `Ready` also names why parts of the service are left out, and which clusters are drained. */
function withRemarks(
  wanted: ImportWanted,
  omitted: readonly Reason[],
  drained: readonly DrainedCluster[],
): ImportWanted {
  const { status } = wanted;
  if (status === undefined) return wanted;
  const claims = status.claims.map((claim) => ({
    ...claim,
    message: withDrains(withOmissions(claim.message, omitted), drained),
  }));
  return { ...wanted, status: { ...status, claims } };
}

function ipsOf(manifest: Manifest | undefined): string[] {
  const spec = manifest?.spec;
  const ips = typeof spec === "object" && spec !== null && "ips" in spec ? spec.ips : undefined;
  return Array.isArray(ips) ? ips.filter((ip) => typeof ip === "string") : [];
}

function keyOf({ metadata: { namespace = "", name } }: Manifest): string {
  return `${namespace}/${name}`;
}
