import { FairBudget } from "../../api/fair-budget.ts";
import { isSubdomainName, namesOf, type ObjectKey } from "../../api/names.ts";
import {
  isPropertyValue,
  MOST_PROPERTIES,
  MOST_PROPERTY_CHARACTERS,
} from "../../api/parse/parse-properties.ts";
import type { Limit } from "../../api/quota.ts";
import type { Reason } from "../../api/reasons.ts";
import type { ExportRecord, SliceFact } from "../model/facts.ts";
import type { OverLimit } from "../model/limits.ts";
import { RECORD_LIMITS, sliceLimits } from "./registry-limits.ts";

/** What an export would publish. */
export interface Publishable {
  readonly record: Pick<ExportRecord, "metadata">;
  readonly slices: readonly Pick<SliceFact, "endpoints" | "ports">[];
}

/** What may be published of an export. */
export interface Published {
  /** Why the record is withheld, and with it the export; absent: it is not. */
  readonly withheld?: Reason;
  readonly slices: readonly SliceFact[];
  /** Why slices are left out; absent: all are published. */
  readonly leftOut?: readonly OverLimit[];
}

/**
 * Keeps what a cluster publishes within the limits with which others read its registry. Namespaces share them, max-min fair, and
 * within a namespace the oldest ServiceExports come first: an export of another namespace loses nothing, whatever a tenant exports.
 */
export class PublicationLimits {
  readonly #ofRecords: readonly Shared<Publishable["record"]>[];
  readonly #ofSlices: readonly Shared<Publishable["slices"][number], OverLimit>[];

  /** `maxRules`: of all slices, endpoints times ports. */
  constructor(maxRules: number) {
    this.#ofRecords = RECORD_LIMITS.map((limit) => shared(limit));
    this.#ofSlices = sliceLimits(maxRules).map((limit) => shared(limit));
  }

  /** Sets what an export would publish; undefined: nothing. `created`: of the ServiceExport, in milliseconds since 1970. */
  set(key: ObjectKey, created: number, publishable: Publishable | undefined): void {
    const { namespace } = namesOf(key);
    const { record, slices = [] } = publishable ?? {};
    for (const { limit, budget } of this.#ofRecords)
      budget.set(key, namespace, created, record === undefined ? 0 : limit.weigh(record));
    for (const { limit, budget } of this.#ofSlices)
      budget.set(
        key,
        namespace,
        created,
        slices.reduce((sum, slice) => sum + limit.weigh(slice), 0),
        1,
      );
  }

  /** The part of an export's slices, as set, that fits: the first slices, and the first endpoints of the last one. */
  admit(key: ObjectKey, slices: readonly SliceFact[]): Published {
    const withheld = this.#ofRecords.find(({ budget }) => budget.restricted(key) !== undefined);
    if (withheld !== undefined) return { withheld: withheld.limit.reason, slices: [] };
    const over = this.#ofSlices.flatMap(({ limit, budget }) => {
      const restricted = budget.restricted(key);
      return restricted === undefined ? [] : [{ limit, left: restricted.grant }];
    });
    if (over.length === 0) return { slices };
    const kept: SliceFact[] = [];
    for (const slice of slices) {
      const part = firstPart(slice, (one) => over.every((it) => it.limit.weigh(one) <= it.left));
      if (part === undefined) break;
      for (const one of over) one.left -= one.limit.weigh(part);
      kept.push(part);
      if (part !== slice) break;
    }
    return { slices: kept, leftOut: over.map(({ limit }) => limit.reason) };
  }

  /** Exports of which more or less fits than at the last call. */
  takeChanged(): ReadonlySet<ObjectKey> {
    const budgets = [...this.#ofRecords, ...this.#ofSlices].map(({ budget }) => budget);
    return new Set(budgets.flatMap((budget) => [...budget.takeChanged()]));
  }
}

/** As many of a slice's first endpoints as fit; undefined if none does. */
function firstPart(slice: SliceFact, fits: (part: SliceFact) => boolean): SliceFact | undefined {
  if (fits(slice)) return slice;
  for (let count = slice.endpoints.length - 1; count > 0; count--) {
    const part = { ...slice, endpoints: slice.endpoints.slice(0, count) };
    if (fits(part)) return part;
  }
  return undefined;
}

interface Shared<Fact, Why extends Reason = Reason> {
  readonly limit: Limit<Fact, Why>;
  readonly budget: FairBudget<ObjectKey>;
}

function shared<Fact, Why extends Reason>(limit: Limit<Fact, Why>): Shared<Fact, Why> {
  return { limit, budget: new FairBudget(limit.most) };
}

/**
 * The ClusterProperties to publish, in order of their names. Values may be long (128,000 characters), but these are
 * copied to each imported slice, so readers limit them.
 */
export function publishable(
  properties: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const kept: [string, string][] = [];
  // Brackets; each property adds a colon and a comma.
  let characters = 2;
  for (const name of Object.keys(properties).sort()) {
    const value = properties[name];
    if (!isSubdomainName(name) || !isPropertyValue(value)) continue;
    characters += JSON.stringify(name).length + JSON.stringify(value).length + 2;
    if (kept.length === MOST_PROPERTIES || characters > MOST_PROPERTY_CHARACTERS) break;
    kept.push([name, value]);
  }
  return Object.fromEntries(kept);
}
