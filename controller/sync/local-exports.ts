import type { Family } from "../../api/address.ts";
import { type ObjectKey, objectKey } from "../../api/names.ts";
import { type Exported, exportOf, type NotExported } from "../export/export-of.ts";
import { packSlices } from "../export/pack-slices.ts";
import type { ExportRecord, SliceFact } from "../model/facts.ts";
import type { Dirty } from "../model/task.ts";
import { decodeRecord } from "../registry/decode-record.ts";
import { encodeRecord } from "../registry/encode.ts";
import { sliceName } from "../registry/names.ts";
import { PublicationLimits, type Published } from "../registry/publication-limits.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Member } from "../stores/member.ts";
import type { ImportedBefore } from "./imported-before.ts";

/** Dependencies of `LocalExports`. */
export interface LocalExportsOptions {
  readonly own: LocalStores;
  /** The local cluster's registry. */
  readonly member: Pick<Member, "id" | "namespace">;
  readonly before: Pick<ImportedBefore, "slicesOf">;
  /** As in `MemberOptions`. */
  readonly maxRules: number;
  /** The slice of a Service as it is published now. */
  readonly published: (slice: SliceFact) => SliceFact;
  /** Queues the `export` of a name of which more or less fits now. */
  readonly dirty: Dirty;
}

/** What one ServiceExport publishes. */
export type Publishing =
  | NotExported
  | (Exported &
      Published & {
        /** All slices of the export. */
        readonly offered: readonly SliceFact[];
      });

/** What the local cluster exports under one name, as others would read it. */
export interface LocalShare {
  /** Its cluster ID. */
  readonly cluster: string;
  /** Absent: it exports nothing. */
  readonly record: ExportRecord | undefined;
  readonly slices: readonly SliceFact[];
}

/**
 * What the local cluster exports, computed from its own objects: published by the `Exporter` within the limits of a registry, and imported here whether or
 * not it is published. The record passes the decoder that other clusters read it with.
 */
export class LocalExports {
  readonly #options: LocalExportsOptions;
  readonly #limits: PublicationLimits;

  constructor(options: LocalExportsOptions) {
    this.#options = options;
    this.#limits = new PublicationLimits(options.maxRules);
  }

  /**
   * Starts over. All exports count from now on: otherwise the first ones that are reconciled would be published, and withdrawn when the others follow. What
   * exactly they publish is set when they are reconciled.
   */
  begin(): void {
    const { own } = this.#options;
    for (const { key, created, metadata } of own.exports.facts()) {
      const isValid =
        own.services.fact(key)?.service?.properties !== undefined && !this.#isReduced(key);
      const publishable = { record: { metadata }, slices: own.serviceSlices.factsOf(key) };
      this.#limits.set(key, created, isValid ? publishable : undefined);
    }
    this.#limits.takeChanged();
  }

  /** What a name publishes now, within the limits; undefined without a ServiceExport. */
  publishing(key: ObjectKey): Publishing | undefined {
    const { dirty, own } = this.#options;
    const exported = this.#exported(key);
    const isValid = exported?.valid === "Valid";
    const isReduced = this.#isReduced(key);
    const created = own.exports.fact(key)?.created ?? 0;
    this.#limits.set(key, created, isValid && !isReduced ? exported : undefined);
    for (const changed of this.#limits.takeChanged()) if (changed !== key) dirty("export", changed);
    if (!isValid) return exported;
    const { slices: offered, ...rest } = exported;
    if (isReduced) return { ...rest, withheld: "too-much-memory", slices: [], offered };
    return { ...rest, ...this.#limits.admit(key, offered), offered };
  }

  /** What a name exports now, whether or not there is room for it in the registry. */
  share(key: ObjectKey): LocalShare {
    const { member, own } = this.#options;
    const exported = this.#exported(key);
    const isReduced = own.services.fact(key)?.service.isReduced === true;
    if (exported?.valid !== "Valid" || isReduced)
      return { cluster: member.id, record: undefined, slices: [] };
    const { fact: record } = decodeRecord(encodeRecord(exported.record, member.namespace), {
      cluster: member.id,
      namespace: member.namespace,
    });
    return { cluster: member.id, record, slices: exported.slices };
  }

  /** True if what the export would publish is not known: it is left out of what is kept of its namespace. */
  #isReduced(key: ObjectKey): boolean {
    const { own } = this.#options;
    return [own.exports.fact(key), own.services.fact(key)?.service].some((fact) => fact?.isReduced);
  }

  #exported(key: ObjectKey): NotExported | (Exported & Pick<LocalShare, "slices">) | undefined {
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
}
