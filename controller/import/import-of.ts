import { FAMILIES, type Family, isAddress, parseAddress } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import type { VipPool } from "../allocate/pool.ts";
import { vipsOf } from "../allocate/vips.ts";
import type { MergedService } from "../merge/merged.ts";
import type { Claim } from "../model/condition.ts";
import type { ImportFact } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import { authoredIps } from "./authored-spec.ts";
import { HEADLESS_READY, isLack, readyClaim } from "./import-claims.ts";
import { exportedImport, givenVips, releasedImport } from "./import-manifest.ts";
import type { Importing } from "./imported-slices.ts";

/** What is known of one name in the importing cluster. */
export interface ImportSight {
  readonly key: ObjectKey;
  /** What those clusters export under it that have been listed; absent: nothing. */
  readonly merged?: MergedService;
  /** The ServiceImport that is there. */
  readonly seen?: ImportFact;
  /** False for a member of the clusterset whose registry has not been listed since the controller started. */
  readonly isHeard: (cluster: string) => boolean;
  /** True if every member has been listed, and it is known who they are. */
  readonly allHeard: boolean;
  readonly pool: VipPool;
}

/** Why an import shall be as it shall be. */
export type ImportReason = Extract<
  Reason,
  "adopted" | "by-hand" | "exported" | "not-heard" | "released" | "withdrawn"
>;

/** What a status shall say; what is absent is not ours. Times are added when it is written. */
export interface StatusWanted {
  /** The exporting clusters, oldest export first. */
  readonly clusters?: readonly string[];
  readonly endpointSliceObjects?: "Present";
  readonly claims: readonly Claim[];
}

/** What shall be there by one name. What is absent is left as it is. */
export interface ImportWanted {
  readonly reason: ImportReason;
  /** To be applied: every field of ours. */
  readonly object?: Manifest;
  readonly status?: StatusWanted;
  /** The import shall go. */
  readonly remove?: true;
  /** What slices are imported for; absent: none of ours shall be there. */
  readonly importing?: Importing;
}

/**
 * What shall become of the ServiceImport of one name; undefined if there is none, nor shall be. The namespace is
 * there: whoever asks has seen to it.
 */
export function importOf(sight: ImportSight): ImportWanted | undefined {
  const { merged, seen, pool } = sight;
  if (seen !== undefined && isHeldBack(seen, sight)) {
    // As it stands, with slices that go on to follow those clusters that are heard.
    const families = seen.families.length > 0 ? seen.families : FAMILIES;
    return { reason: "not-heard", importing: { ...seen, families } };
  }
  if (merged !== undefined) return exported(merged, seen, pool);
  if (seen === undefined) return undefined;
  if (seen.origin === "created") return { reason: "withdrawn", remove: true };
  if (seen.origin === "adopted") {
    // An empty list, not nothing: of a status without one field left, an API server makes null, and refuses it.
    const status = { clusters: [], claims: [] };
    return { reason: "released", object: releasedImport(seen), status };
  }
  return byHand(seen, pool);
}

/** Nothing is narrowed for a cluster that took part and is not heard, and nothing ended while anybody is not. */
function isHeldBack(seen: ImportFact, { merged, isHeard, allHeard }: ImportSight): boolean {
  if (seen.origin === undefined) return false;
  return merged === undefined ? !allHeard : !seen.clusters.every(isHeard);
}

function exported(
  merged: MergedService,
  seen: ImportFact | undefined,
  pool: VipPool,
): ImportWanted {
  const origin = seen === undefined ? "created" : (seen.origin ?? "adopted");
  const authored = origin === "adopted" ? seen?.authored : undefined;
  const { key } = merged;
  // What an author wrote stays, also where a headless export has had its turn in between.
  const vips = merged.headless
    ? undefined
    : vipsOf(key, seen?.ips ?? [], merged.families, pool, authoredIps(authored));
  const families = vips?.vips.map(({ family }) => family) ?? merged.families;
  return {
    reason: origin === "created" ? "exported" : "adopted",
    object: exportedImport(merged, origin, vips?.vips ?? [], families, authored),
    status: {
      clusters: merged.contributors,
      endpointSliceObjects: "Present",
      claims: [vips === undefined ? HEADLESS_READY : readyClaim(vips)],
    },
    importing: { ...merged, families },
  };
}

/** An import that no cluster exports: a VIP if it has none, and not one field more. */
function byHand(seen: ImportFact, pool: VipPool): ImportWanted {
  const reason = "by-hand";
  if (seen.headless) return { reason };
  const lacked = seen.conditions.some(isLack);
  if (seen.ips.length > 0) {
    const vips = seen.ips.map(parseAddress).filter(isAddress);
    if (!lacked || vips.length === 0) return { reason };
    return { reason, status: { claims: [readyClaim({ vips, lacking: new Map() })] } };
  }
  const vips = vipsOf(seen.key, [], familiesOf(seen, pool), pool);
  return {
    reason,
    ...(vips.vips.length > 0 && { object: givenVips(seen, vips.vips) }),
    ...((lacked || vips.vips.length === 0) && { status: { claims: [readyClaim(vips)] } }),
  };
}

/** As a Service that does not say: the one family that comes first. */
function familiesOf({ families }: ImportFact, { ranges }: VipPool): readonly Family[] {
  return families.length > 0 ? families : [ranges[0]?.family ?? "IPv4"];
}
