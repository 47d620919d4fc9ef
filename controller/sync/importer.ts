import { RULES_PER_IMPORT } from "../../api/fair-budget.ts";
import { LABEL_SOURCE_CLUSTER } from "../../api/keys.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import { SERVICE_IMPORTS } from "../../common/kubernetes/kinds.ts";
import { conditionEvents, deciderEvents } from "../import/condition-events.ts";
import {
  rejectedClaim,
  rejectedEvent,
  saysRejected,
  waitsForVip,
  withOmissions,
} from "../import/import-claims.ts";
import {
  type ImportInput,
  type ImportWanted,
  importOf,
  type StatusWanted,
} from "../import/import-of.ts";
import { type Importing, importedSlices, inUse } from "../import/imported-slices.ts";
import { type Nearest, nearestOf, type Viewpoint } from "../import/nearest.ts";
import { retainedSlice, retentionOf } from "../import/retained-slices.ts";
import { withRotation } from "../import/rotation-message.ts";
import { changedSlice, type SliceContent } from "../import/slice-manifest.ts";
import { importStatus } from "../import/status-manifest.ts";
import type { Claim } from "../model/condition.ts";
import type { ImportFact } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import type { Dirty } from "../model/task.ts";
import type { Observer } from "../observe/observer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Applier } from "./applier.ts";
import { addressesIn, converge, isNeeded, keyOf, Steps, untilHung } from "./converge.ts";
import type { EventRecorder } from "./event-recorder.ts";
import type { ExportedService } from "./exported-service.ts";
import type { NearestEvents } from "./nearest-events.ts";
import { OmissionReport } from "./omission-report.ts";
import { Rejections } from "./rejections.ts";
import type { TakenAddresses } from "./taken-addresses.ts";
import type { VipAddresses } from "./vip-addresses.ts";

/** Dependencies of an `Importer`. */
export interface ImporterOptions {
  readonly own: LocalStores;
  readonly imports: Applier;
  readonly slices: Applier;
  readonly addresses: TakenAddresses;
  readonly vips: VipAddresses;
  /** `seen`: the present import. */
  readonly exported: (key: ObjectKey, seen?: ImportFact) => ExportedService;
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
  /** Imports that lack a VIP, or have one that does not work. */
  readonly #waiting = new Set<ObjectKey>();
  readonly #rejections: Rejections;

  constructor(options: ImporterOptions) {
    this.#options = options;
    this.#rejections = new Rejections(options.today);
    options.addresses.freed = () => {
      for (const key of this.#waiting) options.dirty("import", key);
    };
    this.#omissions = new OmissionReport(options.events);
  }

  /** Throws the API server's error. */
  async reconcile(key: ObjectKey): Promise<void> {
    const { addresses, events, explicitVipCidrs, exported, isSilent, own, vips } = this.#options;
    // Kubernetes deletes the content of a namespace.
    if (!own.takesObjects(namesOf(key).namespace)) {
      this.#reserve(key, []);
      this.#waiting.delete(key);
      this.#rejections.note(key, undefined);
      if (own.imports.fact(key) === undefined) await vips.release(key, []);
      this.#omissions.report(key);
      events.imported(key, undefined);
      return;
    }
    const seen = own.imports.fact(key);
    const service = exported(key, seen);
    const { merged, contributions, problems, rejected, remembered } = service;
    const exports = service.exports();
    // What a silent cluster exports here is known: its record is listed, or remembered.
    const isKnown = (cluster: string) =>
      isSilent(cluster) && merged?.contributors.includes(cluster) === true;
    addresses.lift(key);
    const intended = importOf({
      key,
      ...(merged !== undefined && { merged }),
      ...(exports !== undefined && { exports }),
      ...(seen !== undefined && { seen }),
      isSynced: (cluster) => service.isSynced(cluster) || isKnown(cluster),
      isSilent,
      allSynced: this.areAllSynced(key, service),
      pool: addresses.pool,
      explicitVipCidrs,
      held: vips.of(key),
      dispute: (vip) => own.disputeOf(vip, key),
    });
    if (intended?.status?.claims.some(waitsForVip)) this.#waiting.add(key);
    else this.#waiting.delete(key);
    const importing = intended?.importing;
    const slices = importing && importedSlices(importing, contributions);
    const omitted = [...problems.values(), slices?.omitted ?? []].flat();
    const reasons = [...omitted.map(({ reason }) => reason), ...rejected];
    if (remembered.size > 0) reasons.push("not-heard");
    // By default, agents leave out the rest.
    if (service.nodeRules > RULES_PER_IMPORT) reasons.push("import-limit");
    const wanted = intended && withRemarks(intended, reasons, service);
    this.#omissions.report(key, problems, slices?.omitted);
    // A failed write may have been done: its VIPs stay reserved until the import is seen.
    this.#reserve(key, ipsOf(wanted?.object));
    const steps = new Steps();
    const isHeld = await steps.run(() => vips.hold(key, wanted?.vips ?? []));
    await this.#write(key, wanted, slices?.slices ?? [], service, isHeld, steps);
    if (steps.fault === undefined) this.#rejections.note(key, undefined);
    steps.end();
    if (own.imports.fact(key) !== undefined) this.#reserve(key, []);
    const nearest = this.#nearestOf(service);
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
    const { clusters = [], conditions = [] } = own.imports.fact(key) ?? {};
    const sources = own.importedSlices.factsOf(key).map(({ cluster }) => cluster);
    // An import without a status names no cluster yet. One that could not be deleted names none any more (`NO_STATUS`).
    const isKnown = clusters.length > 0 || conditions.some(saysRejected);
    return isKnown && [...clusters, ...sources].every(isSynced);
  }

  /** Undefined also for a headless import with endpoints of a cluster that was not listed: they may be the nearest. */
  #nearestOf({ merged, contributions, remembered }: ExportedService): Nearest | undefined {
    if (merged === undefined || (merged.headless && remembered.size > 0)) return undefined;
    return nearestOf(inUse(merged, contributions), this.#options.here());
  }

  #reserve(key: ObjectKey, ips: readonly string[]): void {
    this.#options.addresses.reserveFor(key, ips);
    if (ips.length > 0) this.#reserving.add(key);
    else this.#reserving.delete(key);
  }

  /**
   * Writes all that is wanted of an import. What is rejected holds up nothing else: endpoints that are gone go, and the status is written.
   */
  async #write(
    key: ObjectKey,
    wanted: ImportWanted | undefined,
    list: readonly Manifest[],
    service: ExportedService,
    isHeld: boolean,
    steps: Steps,
  ): Promise<void> {
    const { own, imports, vips } = this.#options;
    const { object, remove, reason, status } = wanted ?? {};
    // Before the annotation goes, which shows that the status is ours.
    const isReleasable =
      reason !== "released" ||
      status === undefined ||
      (await steps.run(() => this.#writeStatus(key, status)));
    const seen = own.imports.seen(key);
    // Not with VIPs that may be another import's. Endpoints follow meanwhile, if there is an import.
    const hasSameVips = isWithin(ipsOf(object), own.imports.fact(key)?.ips ?? []);
    const isFree = isHeld || hasSameVips;
    // A new import appears without VIPs, so that its condition can say what is missing.
    const created = isFree || seen !== undefined ? object : object && withoutIps(object);
    // First, as readers then see no import, rather than one without endpoints.
    const isRemoved =
      remove === undefined || seen === undefined || (await steps.run(() => imports.remove(seen)));
    const [isWritten] = await Promise.all([
      created === undefined ||
        ((isFree || seen === undefined) &&
          isReleasable &&
          steps.run(() => imports.apply(created, seen))),
      steps.run(() => this.#writeSlices(key, list, service.isSynced)),
    ]);
    const importing = wanted?.importing ?? own.imports.fact(key);
    const written = new Set(list.map(keyOf));
    if (importing !== undefined)
      await steps.run(() => this.#retainSlices(importing, written, service));
    if (created === object && isWritten && isRemoved && reason !== "not-heard")
      await steps.run(() => vips.release(key, wanted?.vips ?? []));
    const rejected = this.#rejectionOf(key, steps.fault);
    // Not of VIPs that the import does not have.
    const isTrue = created === object && (isWritten || hasSameVips);
    const told = rejected && withClaim(remove ? NO_STATUS : status, rejected);
    // A conflict may come before the rejection is seen again, as after a restart.
    const isRejected =
      steps.fault !== undefined && own.imports.fact(key)?.conditions?.some(saysRejected);
    const due = told ?? (isTrue && !isRejected ? status : undefined);
    let isSaid = rejected === undefined;
    if (due !== undefined) {
      isSaid = false;
      await steps.run(async () => {
        isSaid = await this.#writeStatus(key, due);
      });
    }
    if (!isSaid) this.#tell(key, steps.fault);
  }

  /** What to say of a fault in the condition: if it lasts, or did so for the controller before. */
  #rejectionOf(key: ObjectKey, fault: unknown): Claim | undefined {
    const rejection = fault === undefined ? undefined : this.#rejections.note(key, fault);
    const seen = this.#options.own.imports.fact(key)?.conditions ?? [];
    const isDue = seen.length === 0 || seen.some(saysRejected) || rejection?.isLasting;
    return rejection && isDue ? rejectedClaim(rejection) : undefined;
  }

  /** Creates an Event about a fault that lasts, of an import that may not exist. */
  #tell(key: ObjectKey, fault: unknown): void {
    const { own, recorder } = this.#options;
    const rejection = fault === undefined ? undefined : this.#rejections.note(key, fault);
    if (rejection === undefined || !this.#rejections.tell(key)) return;
    const about = own.imports.seen(key) ?? { key, uid: "" };
    recorder.record(SERVICE_IMPORTS, about, [rejectedEvent(rejection, "this import")]);
  }

  /** Slices of clusters that are not synced stay. */
  async #writeSlices(
    key: ObjectKey,
    list: readonly Manifest[],
    isSynced: ExportedService["isSynced"],
  ): Promise<void> {
    const { own: stores, slices } = this.#options;
    const { importedSlices } = stores;
    const kept = new Set(list.map(keyOf));
    const { faults } = await converge({
      applier: slices,
      seen: (slice) => importedSlices.seen(slice),
      wanted: list,
      gone: [...importedSlices.keysOf(key)].filter((slice) => {
        const cluster = importedSlices.fact(slice)?.cluster;
        return !kept.has(slice) && (cluster === undefined || isSynced(cluster));
      }),
      // Of another cluster, or without an endpoint of what is not written. Addresses are not kept in memory; a slice that
      // cannot be read stays.
      mayGo: async (slice, { failed }) => {
        const seen = importedSlices.seen(slice);
        const cluster = importedSlices.fact(slice)?.cluster;
        const own = failed.filter(({ manifest }) => sourceOf(manifest) === cluster);
        if (own.length === 0 || seen === undefined) return true;
        const object = await slices.read(seen).catch(() => undefined);
        return object !== undefined && !isNeeded(addressesIn(object), own);
      },
      emptied: async (slice) => {
        const seen = importedSlices.seen(slice);
        return seen && changedSlice(await slices.read(seen), withoutEndpoints);
      },
    });
    if (faults.length > 0) throw faults[0];
  }

  /** Changes the slices of clusters that were not synced since the start as the import and the state of the cluster require. */
  async #retainSlices(
    service: Importing,
    written: ReadonlySet<string>,
    { isSynced, remembered }: ExportedService,
  ): Promise<void> {
    const { isInRotation, isSilent, own, slices } = this.#options;
    const old = own.importedSlices
      .factsOf(service.key)
      .filter(({ cluster, key }) => !isSynced(cluster) && !written.has(key));
    const isHanging = ({ key }: (typeof old)[number]) => slices.hangs(key);
    await untilHung(old, isHanging, async (slice) => {
      const { cluster, key } = slice;
      const retention = {
        service,
        isInRotation: isInRotation(cluster) && !isSilent(cluster),
        record: remembered.get(cluster),
      };
      const change = retentionOf(slice, retention);
      const seen = own.importedSlices.seen(key);
      if (change === "kept" || seen === undefined) return false;
      if (change === "removed") await slices.remove(seen);
      else {
        const manifest = retainedSlice(await slices.read(seen), retention);
        if (manifest === undefined) return false;
        await slices.apply(manifest, seen);
      }
      return true;
    });
  }

  /** False if there is no import. */
  async #writeStatus(key: ObjectKey, status: StatusWanted): Promise<boolean> {
    const { dirty, own, imports, recorder, today } = this.#options;
    const fact = own.imports.fact(key);
    const seen = own.imports.seen(key);
    if (fact === undefined || seen === undefined) return false;
    const written = await imports.applyStatus(importStatus(fact, status, today()), seen);
    if (!written) return true;
    // `areAllSynced` depends on the clusters in the status.
    dirty("status", key);
    const events = conditionEvents(status.claims, fact.conditions);
    const warnings = events.filter(({ level }) => level === "Warning");
    const deciders = deciderEvents(fact.clusters, status.clusters ?? []);
    recorder.record(SERVICE_IMPORTS, seen, [...warnings, ...deciders]);
    return true;
  }
}

/** Of an import that nobody exports any more, which cannot be deleted. */
const NO_STATUS: StatusWanted = { clusters: [], claims: [] };

/**
 * An import whose condition `Ready` also names why parts of the service are left out, and which clusters are drained. A headless
 * one names stale clusters, too, which its slices do not show.
 */
function withRemarks(
  wanted: ImportWanted,
  omitted: readonly Reason[],
  { drained, stale }: ExportedService,
): ImportWanted {
  const { importing, status } = wanted;
  if (status === undefined) return wanted;
  const shown = importing?.headless === true ? stale : [];
  const claims = status.claims.map((claim) => ({
    ...claim,
    message: withRotation(withOmissions(claim.message, omitted), drained, shown),
  }));
  return { ...wanted, status: { ...status, claims } };
}

/** Undefined if the status is not ours. */
function withClaim(status: StatusWanted | undefined, claim: Claim): StatusWanted | undefined {
  if (status === undefined) return undefined;
  const others = status.claims.filter(({ type }) => type !== claim.type);
  return { ...status, claims: [...others, claim] };
}

function withoutIps(manifest: Manifest): Manifest {
  return { ...manifest, spec: { ...(manifest.spec as object), ips: [] } };
}

function ipsOf(manifest: Manifest | undefined): string[] {
  const spec = manifest?.spec;
  const ips = typeof spec === "object" && spec !== null && "ips" in spec ? spec.ips : undefined;
  return Array.isArray(ips) ? ips.filter((ip) => typeof ip === "string") : [];
}

function withoutEndpoints(content: SliceContent): SliceContent {
  return { ...content, endpoints: [] };
}

function sourceOf({ metadata }: Manifest): string | undefined {
  return metadata.labels?.[LABEL_SOURCE_CLUSTER];
}

function isWithin(some: readonly string[], all: readonly string[]): boolean {
  return some.every((one) => all.includes(one));
}
