import type { Family } from "../../api/address.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { EntryFilter } from "../system/conntrack/table.ts";

/**
 * Which entries a change may have made wrong: all that are of one of these protocols and addressed to one of
 * these VIPs. It only narrows where to look, never what is found there.
 */
export interface Concern {
  /** Absent means any. */
  readonly protocols?: ReadonlySet<Protocol>;
  /** As `Address.hex`; absent means any. */
  readonly vips?: ReadonlySet<string>;
  /** Present if only such are concerned that nobody has answered. */
  readonly unanswered?: true;
}

/** Every entry: after a complete pass, which may have found anything. */
export const EVERYTHING: Concern = {};

/** What either is about. */
export function both(a: Concern | undefined, b: Concern | undefined): Concern | undefined {
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

/** What to ask the kernel for: it can look for one protocol and one address, or for all. */
export function filterOf(family: Family, { protocols, vips, unanswered }: Concern): EntryFilter {
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
  return a === undefined || b === undefined ? undefined : new Set([...a, ...b]);
}

function only<T>(set: ReadonlySet<T> | undefined): T | undefined {
  return set?.size === 1 ? [...set][0] : undefined;
}
