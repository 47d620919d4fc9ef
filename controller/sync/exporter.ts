import type { Family } from "../../api/address.ts";
import { type ObjectKey, objectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { type Exported, exportOf, type NotExported } from "../export/export-of.ts";
import { pack } from "../export/pack.ts";
import type { Publication } from "../import/export-claims.ts";
import type { ExportFact, SliceFact } from "../model/facts.ts";
import { encodeRecord, encodeSlice } from "../registry/encode.ts";
import { sliceName } from "../registry/names.ts";
import type { Member } from "../stores/member.ts";
import type { OwnCluster } from "../stores/own-cluster.ts";
import type { Applier } from "./applier.ts";
import { inParallel } from "./in-parallel.ts";

/** What became of a ServiceExport. */
export interface ExportOutcome {
  readonly valid: Exported["valid"] | NotExported["valid"];
  readonly publication: Publication;
}

/** What an `Exporter` is made of. */
export interface ExporterOptions {
  readonly own: OwnCluster;
  /** We, as our registry shows us. */
  readonly member: Member;
  readonly records: Applier;
  readonly slices: Applier;
  /** A slice of a Service as it is to be published now: readiness may be held back. */
  readonly published: (slice: SliceFact) => SliceFact;
  /** What became of an export, where that is another outcome than before; undefined: it is no more. */
  readonly outcome: (key: ObjectKey, outcome: ExportOutcome | undefined) => void;
  /** All that is left out of an export. */
  readonly problems: (object: string, problems: readonly Problem[]) => void;
}

/** Publishes what our cluster exports: one record and its slices in our own registry. */
export class Exporter {
  readonly #options: ExporterOptions;
  readonly #outcomes = new Map<ObjectKey, ExportOutcome>();

  constructor(options: ExporterOptions) {
    this.#options = options;
  }

  /** What became of an export last; undefined: nothing yet. */
  outcome(key: ObjectKey): ExportOutcome | undefined {
    return this.#outcomes.get(key);
  }

  /** Makes what is published by one name what it should be. Throws what the API server answered. */
  async reconcile(key: ObjectKey): Promise<void> {
    const { own, problems } = this.#options;
    const fact = own.exports.fact(key);
    if (fact === undefined) {
      problems(`ServiceExport ${key}`, []);
      await this.#withdraw(key);
      this.#become(key, undefined);
      return;
    }
    const exported = this.#exported(fact);
    const { valid } = exported;
    problems(`ServiceExport ${key}`, valid === "Valid" ? exported.problems : []);
    try {
      if (valid === "Valid") await this.#publish(key, exported);
      else await this.#withdraw(key);
      this.#become(key, { valid, publication: "published" });
    } catch (thrown) {
      this.#become(key, { valid, publication: publicationOf(thrown) });
      throw thrown;
    }
  }

  /** Publishes nothing, since the registry is somebody else's, and says so of an export that waits for it. */
  postpone(key: ObjectKey): void {
    const fact = this.#options.own.exports.fact(key);
    if (fact === undefined) this.#become(key, undefined);
    else this.#become(key, { valid: this.#exported(fact).valid, publication: "pending" });
  }

  #exported(fact: ExportFact): Exported | NotExported {
    const { own, member, published } = this.#options;
    const service = own.services.fact(fact.key)?.service;
    return exportOf({
      export: fact,
      ...(service !== undefined && { service }),
      slices: own.serviceSlices.factsOf(fact.key).map(published),
      cluster: member.id,
    });
  }

  async #publish(key: ObjectKey, { record, endpoints }: Exported): Promise<void> {
    const { member, records, slices } = this.#options;
    const { id, namespace } = member;
    const wanted = pack(member.slices.factsOf(key), endpoints, {
      service: key,
      families: record.families,
      keyOf: (family: Family, index) => objectKey(namespace, sliceName(key, family, index)),
    });
    const kept = new Set<string>(wanted.map((slice) => slice.key));
    const recorded = member.records.seen(member.recordKey(key));
    await Promise.all([
      records.apply(encodeRecord(record, namespace), recorded),
      inParallel(wanted, (slice) =>
        slices.apply(encodeSlice(slice, id), member.slices.seen(slice.key)),
      ),
    ]);
    await this.#removeSlices(key, kept);
  }

  /** The record goes first: readers then know that nothing is exported, rather than that nobody is there. */
  async #withdraw(key: ObjectKey): Promise<void> {
    const { member, records } = this.#options;
    const recorded = member.records.seen(member.recordKey(key));
    if (recorded !== undefined) await records.remove(recorded);
    await this.#removeSlices(key, new Set());
  }

  async #removeSlices(key: ObjectKey, kept: ReadonlySet<string>): Promise<void> {
    const { member, slices } = this.#options;
    const gone = [...member.slices.keysOf(key)].filter((slice) => !kept.has(slice));
    await inParallel(gone, async (slice) => {
      const seen = member.slices.seen(slice);
      if (seen !== undefined) await slices.remove(seen);
    });
  }

  #become(key: ObjectKey, next: ExportOutcome | undefined): void {
    const before = this.#outcomes.get(key);
    if (next === undefined) this.#outcomes.delete(key);
    else this.#outcomes.set(key, next);
    if (before?.valid === next?.valid && before?.publication === next?.publication) return;
    this.#options.outcome(key, next);
  }
}

/** Faults after which the write is only late. */
const LATE: readonly FaultReason[] = ["write-conflict", "not-leader", "throttled"];
/** Faults after which nobody knows whether it was done, or which say nothing of the export. */
const DARK: readonly FaultReason[] = [
  "garbage",
  "no-credentials",
  "server-error",
  "stalled",
  "unreachable",
];

/** What a failed write makes of an export that was published, or not. */
function publicationOf(thrown: unknown): Publication {
  if (!(thrown instanceof ApiFault)) return "failed";
  if (LATE.includes(thrown.reason)) return "pending";
  return DARK.includes(thrown.reason) ? "unknown" : "failed";
}
