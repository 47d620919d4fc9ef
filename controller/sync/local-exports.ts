import type { Family } from "../../api/address.ts";
import { namesOf, type ObjectKey, objectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import { type Exported, exportOf, type NotExported } from "../export/export-of.ts";
import { packSlices } from "../export/pack-slices.ts";
import type { ExportRecord, SliceFact } from "../model/facts.ts";
import type { Dirty } from "../model/task.ts";
import type { Observer } from "../observe/observer.ts";
import { decodeRecord } from "../registry/decode-record.ts";
import { encodeRecord } from "../registry/encode.ts";
import { serviceOfRecord, serviceOfSlice, sliceName } from "../registry/names.ts";
import { FactStore } from "../stores/fact-store.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Member } from "../stores/member.ts";
import { RegistryQuotas } from "../stores/registry-quotas.ts";
import type { ImportedBefore } from "./imported-before.ts";

/** Dependencies of `LocalExports`. */
export interface LocalExportsOptions {
  readonly own: LocalStores;
  /** The local cluster's registry. */
  readonly member: Pick<Member, "id" | "namespace" | "recordKey">;
  readonly before: Pick<ImportedBefore, "slicesOf">;
  /** As in `MemberOptions`. */
  readonly maxRules: number;
  /** The slice of a Service as it is published now. */
  readonly published: (slice: SliceFact) => SliceFact;
  readonly dirty: Dirty;
  readonly events: Pick<Observer, "problems">;
}

/** What one ServiceExport publishes. */
export type Publishing = NotExported | (Exported & { readonly slices: readonly SliceFact[] });

/** What the local cluster exports under one name, as others will read it. */
export interface LocalShare {
  /** Its cluster ID. */
  readonly cluster: string;
  /** Absent: it exports nothing. */
  readonly record: ExportRecord | undefined;
  readonly slices: readonly SliceFact[];
  /** Why parts are over the limits. */
  readonly rejected: readonly Reason[];
}

/**
 * What the local cluster exports, computed from its own objects: published by the `Exporter`, and imported here whether or
 * not it can be published. It passes the decoder and the limits that other clusters read it with.
 */
export class LocalExports {
  readonly #options: LocalExportsOptions;
  readonly #quotas: RegistryQuotas;
  readonly #records: FactStore<ExportRecord>;
  readonly #slices: FactStore<SliceFact>;
  /** Names that were imported before a restart and are not computed yet: their places within the limits are reserved. */
  readonly #before = new Set<ObjectKey>();

  constructor(options: LocalExportsOptions) {
    const { events, maxRules, member } = options;
    this.#options = options;
    const problems: Observer["problems"] = events.problems.bind(events);
    this.#quotas = new RegistryQuotas({
      namespace: "this cluster's exports",
      maxRules,
      problems: (object, found) => problems(member.id, object, found),
      relist: () => this.#retry(),
    });
    // Nothing follows from a change: the reconcile that causes it reads the result.
    const silent = { changed: () => undefined, problems: () => undefined };
    this.#records = new FactStore<ExportRecord>({
      ...silent,
      parse: (object) => decodeRecord(object, { cluster: member.id, namespace: member.namespace }),
      groupOf: (key) => serviceOfRecord(namesOf(key).name),
      quota: this.#quotas.records,
    });
    this.#slices = new FactStore<SliceFact>({
      ...silent,
      // Its content was parsed by the same rules.
      parse: (object) => {
        const fact = object as SliceFact;
        return { object: `EndpointSlice ${fact.key}`, fact, problems: [] };
      },
      groupOf: (key) => serviceOfSlice(namesOf(key).name),
      quota: this.#quotas.slices,
    });
  }

  /** Starts over. `before`: names that were imported from this cluster. */
  begin(before: Iterable<ObjectKey>): void {
    const { member, own } = this.#options;
    this.#before.clear();
    for (const key of before) if (own.exports.fact(key) !== undefined) this.#before.add(key);
    const expected = [...this.#before].map((key) => member.recordKey(key));
    this.#quotas.begin(expected.filter((key) => this.#records.fact(key) === undefined));
    if (this.#before.size === 0) this.#quotas.end();
  }

  /** What a name publishes now; undefined without a ServiceExport. */
  of(key: ObjectKey): Publishing | undefined {
    const { before, member, own, published } = this.#options;
    const fact = own.exports.fact(key);
    if (fact === undefined) return undefined;
    const service = own.services.fact(key)?.service;
    const exported = exportOf({
      export: fact,
      ...(service !== undefined && { service }),
      slices: own.serviceSlices.factsOf(key).map(published),
      cluster: member.id,
    });
    if (exported.valid !== "Valid") return exported;
    const slices = packSlices(before.slicesOf(key), exported.endpoints, {
      service: key,
      families: exported.record.families,
      keyOf: (family: Family, index) => objectKey(member.namespace, sliceName(key, family, index)),
    });
    return { ...exported, slices };
  }

  /** The share of a name now, within the limits. */
  share(key: ObjectKey): LocalShare {
    const { member } = this.#options;
    const publishing = this.of(key);
    if (publishing?.valid === "Valid") this.#put(key, publishing);
    else this.#remove(key, new Set());
    if (this.#before.delete(key) && this.#before.size === 0) this.#quotas.end();
    return {
      cluster: member.id,
      record: this.#records.fact(member.recordKey(key)),
      slices: this.#slices.factsOf(key),
      rejected: [...this.#records.rejectionsOf(key), ...this.#slices.rejectionsOf(key)],
    };
  }

  #put(key: ObjectKey, { record, slices }: Extract<Publishing, { valid: "Valid" }>): void {
    const { member } = this.#options;
    const recordKey = member.recordKey(key);
    this.#records.changed(recordKey, encodeRecord(record, member.namespace));
    this.#remove(key, new Set([recordKey, ...slices.map((slice) => slice.key)]));
    for (const slice of slices) this.#slices.changed(slice.key, slice);
  }

  /** Removes a name's objects but for `kept`. */
  #remove(key: ObjectKey, kept: ReadonlySet<string>): void {
    const { member } = this.#options;
    const recordKey = member.recordKey(key);
    if (!kept.has(recordKey)) this.#records.removed(recordKey);
    for (const slice of [...this.#slices.knownOf(key)]) {
      if (!kept.has(slice)) this.#slices.removed(slice);
    }
  }

  /** Rejected exports may fit now. */
  #retry(): void {
    const { dirty, own } = this.#options;
    for (const { key } of own.exports.facts()) {
      const rejected = [...this.#records.rejectionsOf(key), ...this.#slices.rejectionsOf(key)];
      if (rejected.length > 0) dirty("import", key);
    }
  }
}
