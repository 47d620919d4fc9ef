import type { Family } from "../../api/address.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { EntryFilter } from "../system/conntrack/table.ts";

/** Entries that a change may have made stale. A scope narrows the scan; `StaleCheck` decides about each entry. */
export interface ScanScope {
  /** Absent: any. */
  readonly protocols?: ReadonlySet<Protocol>;
  /** As `Address.hex`; absent: any. */
  readonly vips?: ReadonlySet<string>;
  /** Present: only entries without a reply. */
  readonly unanswered?: true;
}

/** The scope of a complete pass. */
export const EVERYTHING: ScanScope = {};

/** A scope that covers both. */
export function mergeScopes(
  a: ScanScope | undefined,
  b: ScanScope | undefined,
): ScanScope | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const protocols = union(a.protocols, b.protocols);
  const vips = union(a.vips, b.vips);
  const unanswered = a.unanswered && b.unanswered;
  return {
    ...(protocols && { protocols }),
    ...(vips && { vips }),
    ...(unanswered && { unanswered }),
  };
}

/** The kernel filters by one protocol and one address, or by none. */
export function filterOf(family: Family, { protocols, vips, unanswered }: ScanScope): EntryFilter {
  const protocol = only(protocols);
  const destination = only(vips);
  return {
    family,
    ...(protocol !== undefined && { protocol }),
    ...(destination !== undefined && { destination }),
    ...(unanswered && { unanswered }),
  };
}

function union<T>(a: ReadonlySet<T> | undefined, b: ReadonlySet<T> | undefined) {
  return a && b && new Set([...a, ...b]);
}

function only<T>(set: ReadonlySet<T> | undefined): T | undefined {
  return set?.size === 1 ? [...set][0] : undefined;
}
