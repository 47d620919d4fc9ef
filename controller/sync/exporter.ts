import type { ObjectKey } from "../../api/names.ts";
import { type Problem, shown } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { groupKey } from "../export/endpoint-groups.ts";
import type { Publication } from "../import/export-claims.ts";
import type { Rejected } from "../import/import-claims.ts";
import { type Accepted, type Outside, outsideOf } from "../import/outside.ts";
import type { SliceFact } from "../model/facts.ts";
import type { Dirty } from "../model/task.ts";
import type { Observer } from "../observe/observer.ts";
import { encodeRecord, encodeSlice } from "../registry/encode.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Member } from "../stores/member.ts";
import type { Applier } from "./applier.ts";
import { converge, isNeeded, Steps } from "./converge.ts";
import type { LocalExports, Publishing } from "./local-exports.ts";
import { Rejections } from "./rejections.ts";

/** The result of the last export of a name. */
export interface ExportOutcome {
  readonly valid: Publishing["valid"];
  readonly publication: Publication;
  /** Why it is `failed`. */
  readonly rejected?: Rejected;
  /** Reasons of parts that are not published. */
  readonly omitted: readonly Reason[];
  /** Of the published slices with endpoints, one of each family and set of ports. */
  readonly offered: readonly SliceFact[];
  /** Endpoints that other clusters reject. */
  readonly outside?: Outside;
  /** False while it may not be known of all clusters what they reject. */
  readonly areRangesKnown: boolean;
}

/** Dependencies of an `Exporter`. */
export interface ExporterOptions {
  readonly own: Pick<LocalStores, "exports" | "services" | "serviceSlices">;
  readonly exports: Pick<LocalExports, "publishing">;
  /** The endpoint ranges that others declare for the local cluster. */
  readonly accepted: () => Accepted;
  /** The local cluster's registry. */
  readonly member: Member;
  readonly records: Applier;
  readonly slices: Applier;
  /** Queues `status` when an outcome has changed. */
  readonly dirty: Dirty;
  /** Milliseconds since 1970. */
  readonly today: () => number;
  readonly events: Pick<Observer, "problems">;
}

/** Publishes ServiceExports: one record and its slices in the local cluster's registry. */
export class Exporter {
  readonly #options: ExporterOptions;
  readonly #outcomes = new Map<ObjectKey, ExportOutcome>();
  readonly #rejections: Rejections;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#rejections = new Rejections(options.today);
  }

  /** Undefined before the first reconcile. */
  outcome(key: ObjectKey): ExportOutcome | undefined {
    return this.#outcomes.get(key);
  }

  /** Publishes or withdraws one name. Throws the API server's error. */
  async reconcile(key: ObjectKey): Promise<void> {
    const { accepted, exports, own, events } = this.#options;
    const object = `ServiceExport ${key}`;
    const exported = exports.publishing(key);
    if (exported === undefined) {
      events.problems(undefined, object, []);
      this.#rejections.note(key, undefined);
      await this.#withdraw(key);
      this.#become(key, undefined);
      return;
    }
    const { valid } = exported;
    const { slices, withheld } = valid === "Valid" ? exported : { slices: [] };
    const ranges = accepted();
    const outside = outsideOf(slices, ranges);
    const problems = [
      ...(valid === "Valid" ? exported.problems : []),
      ...(valid === "Valid" ? overLimits(object, exported) : []),
      ...(outside === undefined ? [] : [problemOf(object, outside)]),
    ];
    // Of labels and annotations, of the Service's ports, and of its slices.
    const rejected = [
      ...own.exports.reasons(key),
      ...own.services.reasons(key),
      ...own.serviceSlices.reasonsOf(key),
    ];
    const omitted = [
      ...problems.map(({ reason }) => reason),
      ...(valid === "Valid" ? rejected : []),
    ];
    const about = {
      offered: kindsOf(slices, outside?.everywhere),
      ...(outside && { outside }),
      areRangesKnown: ranges.isKnown,
    };
    events.problems(undefined, object, problems);
    try {
      if (valid === "Valid" && withheld === undefined) await this.#publish(key, exported);
      else await this.#withdraw(key);
      const publication = withheld === undefined ? "published" : "withheld";
      this.#rejections.note(key, undefined);
      this.#become(key, { valid, publication, omitted, ...about });
    } catch (thrown) {
      this.#become(key, { valid, ...this.#failure(key, thrown), omitted, ...about });
      throw thrown;
    }
  }

  /** Publishes nothing: another cluster holds the registry, and the export is pending; or the Lease is rejected because of `fault`. */
  postpone(key: ObjectKey, fault?: ApiFault): void {
    const valid = this.#options.exports.publishing(key)?.valid;
    const failure =
      fault === undefined ? { publication: "pending" as const } : this.#failure(key, fault);
    if (valid === undefined) this.#become(key, undefined);
    else this.#become(key, { valid, ...failure, omitted: [], offered: [], areRangesKnown: false });
  }

  #failure(key: ObjectKey, thrown: unknown): Pick<ExportOutcome, "publication" | "rejected"> {
    const rejection = this.#rejections.note(key, thrown);
    if (rejection === undefined) return { publication: publicationOf(thrown) };
    const { reason, message } = rejection;
    return { publication: "failed", rejected: { reason, message } };
  }

  async #publish(
    key: ObjectKey,
    { record: exported, leftOut, slices: wanted }: Extract<Publishing, { valid: "Valid" }>,
  ): Promise<void> {
    const { member, records } = this.#options;
    const recorded = member.records.seen(member.recordKey(key));
    const record = { ...exported, ...(leftOut !== undefined && { leftOut }) };
    const steps = new Steps();
    await Promise.all([
      steps.run(() => records.apply(encodeRecord(record, member.namespace), recorded)),
      steps.run(() => this.#writeSlices(key, wanted)),
    ]);
    steps.end();
  }

  /** The record goes first: readers then see no export, rather than an export without endpoints. */
  async #withdraw(key: ObjectKey): Promise<void> {
    const { member, records } = this.#options;
    const recorded = member.records.seen(member.recordKey(key));
    const steps = new Steps();
    if (recorded !== undefined) await steps.run(() => records.remove(recorded));
    await steps.run(() => this.#writeSlices(key, []));
    steps.end();
  }

  async #writeSlices(key: ObjectKey, wanted: readonly SliceFact[]): Promise<void> {
    const { member, slices } = this.#options;
    const kept = new Set<string>(wanted.map((slice) => slice.key));
    const { faults } = await converge({
      applier: slices,
      seen: (slice) => member.slices.seen(slice),
      wanted: wanted.map((slice) => encodeSlice(slice, member.id)),
      gone: [...member.slices.keysOf(key)].filter((slice) => !kept.has(slice)),
      mayGo: (slice, { failed }) => {
        const { endpoints = [] } = member.slices.fact(slice) ?? {};
        return !isNeeded(
          endpoints.map(({ address }) => address),
          failed,
        );
      },
      emptied: (slice) => {
        const fact = member.slices.fact(slice);
        return fact && encodeSlice({ ...fact, endpoints: [] }, member.id);
      },
    });
    if (faults.length > 0) throw faults[0];
  }

  #become(key: ObjectKey, next: ExportOutcome | undefined): void {
    const before = this.#outcomes.get(key);
    if (next === undefined) this.#outcomes.delete(key);
    else this.#outcomes.set(key, next);
    if (textOf(before) === textOf(next)) return;
    this.#options.dirty("status", key);
  }
}

/** Errors after which the write is retried soon. */
const LATE: readonly FaultReason[] = ["write-conflict", "not-leader", "throttled"];
/** Errors after which the write may have been done, or that do not concern the export. */
const UNCERTAIN: readonly FaultReason[] = [
  "garbage",
  "no-credentials",
  "server-error",
  "stalled",
  "unreachable",
];

function publicationOf(thrown: unknown): Publication {
  if (!(thrown instanceof ApiFault)) return "failed";
  if (LATE.includes(thrown.reason)) return "pending";
  return UNCERTAIN.includes(thrown.reason) ? "unknown" : "failed";
}

function problemOf(object: string, { example }: Outside): Problem {
  return { reason: "outside-endpoint-cidrs", object, field: "endpoints", value: shown(example) };
}

/** What has no room in the registry. */
function overLimits(
  object: string,
  { withheld, leftOut = [], offered }: Extract<Publishing, { valid: "Valid" }>,
): Problem[] {
  const reasons = withheld === undefined ? leftOut : [withheld];
  return reasons.map((reason) => ({ reason, object, field: "slices", value: `${offered.length}` }));
}

/** The first slice of each family and set of ports with endpoints that are not `rejected`. */
function kindsOf(
  slices: readonly SliceFact[],
  rejected: ReadonlySet<string> = new Set(),
): readonly SliceFact[] {
  const kinds = new Map<string, SliceFact>();
  for (const slice of slices) {
    const kind = kindOf(slice);
    if (kinds.has(kind)) continue;
    if (slice.endpoints.some(({ address }) => !rejected.has(address))) kinds.set(kind, slice);
  }
  return [...kinds.values()];
}

function kindOf({ family, ports }: SliceFact): string {
  return groupKey(family, ports);
}

function textOf(outcome: ExportOutcome | undefined): string {
  if (outcome === undefined) return "";
  const { valid, publication, rejected, omitted, offered, outside, areRangesKnown } = outcome;
  const { count, of, example, by, ranges } = outside ?? {};
  return JSON.stringify([
    ...[valid, publication, rejected, omitted, offered.map(kindOf).sort()],
    ...[areRangesKnown, count, of, example, by, ranges],
  ]);
}
