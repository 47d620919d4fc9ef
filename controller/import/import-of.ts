import {
  type Address,
  canonicalAddresses,
  FAMILIES,
  type Family,
  isAddress,
  parseAddress,
} from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import type { VipPool } from "../allocate/pool.ts";
import { vipRefusal, vipsOf } from "../allocate/vips.ts";
import type { MergedService } from "../merge/merged.ts";
import type { Claim } from "../model/condition.ts";
import type { ImportFact } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import {
  frozenClaims,
  HEADLESS_READY,
  isLack,
  noRoomClaims,
  readyClaim,
  saysNoRoom,
} from "./import-claims.ts";
import { authoredIps, exportedImport, givenVips, releasedImport } from "./import-manifest.ts";
import type { Importing } from "./imported-slices.ts";
import { type VipRules, vipFaults } from "./vip-faults.ts";

/** Input of an import. */
export interface ImportInput extends VipRules {
  readonly key: ObjectKey;
  /** The merged exports; absent: none. */
  readonly merged?: MergedService;
  /** What other clusters export, from `exportsAnnotation`. */
  readonly exports?: string;
  /** The present ServiceImport. */
  readonly seen?: ImportFact;
  /** False for a member whose exports are neither listed nor known from the import. */
  readonly isSynced: (cluster: string) => boolean;
  /** True for a cluster whose Lease was not renewed for its duration. */
  readonly isSilent: (cluster: string) => boolean;
  /** True if the exports of all members are known. */
  readonly allSynced: boolean;
  /** VIPs with an IPAddress for this import. */
  readonly held: readonly string[];
}

/** The reason of an import's state. */
export type ImportReason = Extract<
  Reason,
  "adopted" | "by-hand" | "exported" | "not-heard" | "released" | "too-much-memory" | "withdrawn"
>;

/** The wanted status; absent fields are not ours. */
export interface StatusWanted {
  /** The exporting clusters, oldest export first. */
  readonly clusters?: readonly string[];
  readonly endpointSliceObjects?: "Present";
  readonly claims: readonly Claim[];
}

/** The wanted state of one name. Absent fields: no change. */
export interface ImportWanted {
  readonly reason: ImportReason;
  /** The manifest to apply. */
  readonly object?: Manifest;
  /** The VIPs that are the import's own; absent: none. */
  readonly vips?: readonly string[];
  readonly status?: StatusWanted;
  /** The import is deleted. */
  readonly remove?: true;
  /** Input of `importedSlices`; absent: all our slices are deleted. */
  readonly importing?: Importing;
}

/**
 * Computes the wanted ServiceImport; undefined if there is none and none is wanted. The caller checks the namespace.
 */
export function importOf(input: ImportInput): ImportWanted | undefined {
  const { merged, seen } = input;
  if (seen !== undefined && isHeldBack(seen, input)) {
    // The import stays; slices of known clusters are still updated.
    const families = seen.families.length > 0 ? seen.families : FAMILIES;
    const status = frozenStatus(seen, input);
    const ports = seen.isReduced ? (merged?.ports ?? []) : seen.ports;
    const importing = { ...seen, families, ports };
    return { reason: "not-heard", ...(status !== undefined && { status }), importing };
  }
  if (seen?.isReduced && isAuthored(seen, merged)) return reduced(seen, input);
  if (merged !== undefined) return exported(merged, input);
  if (seen === undefined) return undefined;
  if (seen.origin === "created") return { reason: "withdrawn", remove: true };
  if (seen.origin === "adopted") {
    // An API server turns an empty status into null, and then rejects it.
    const status = { clusters: [], claims: [] };
    const vips = ownOf(seen.ips, input);
    return { reason: "released", object: releasedImport(seen), vips, status };
  }
  return byHand(seen, input);
}

/** True if what a user wrote would be kept in the import, or restored. */
function isAuthored({ origin }: ImportFact, merged: MergedService | undefined): boolean {
  return origin === "adopted" || (origin === undefined && merged !== undefined);
}

/** An import of a user whose spec is not known does not change. Its endpoints follow, and its VIPs stay its own. */
function reduced(seen: ImportFact, input: ImportInput): ImportWanted {
  const { merged } = input;
  const isAdopted = seen.origin === "adopted";
  const families = seen.families.length > 0 ? seen.families : FAMILIES;
  return {
    reason: "too-much-memory",
    vips: ownOf([...seen.ips, ...seen.previousIps], input),
    status: {
      ...(isAdopted && { clusters: merged?.contributors ?? [] }),
      ...(isAdopted && merged !== undefined && { endpointSliceObjects: "Present" as const }),
      claims: noRoomClaims(seen.conditions),
    },
    ...(isAdopted && merged !== undefined && { importing: { ...merged, families } }),
  };
}

/** True if the import must not change, because a cluster that took part is unknown. */
function isHeldBack(seen: ImportFact, { merged, isSynced, allSynced }: ImportInput): boolean {
  if (seen.origin === undefined) return false;
  return merged === undefined ? !allSynced : !seen.clusters.every(isSynced);
}

/**
 * The present status, which also says that the import is not changed; absent as long as the cluster may only not be listed
 * yet, as in the first seconds of every process.
 */
function frozenStatus(
  { clusters, conditions }: ImportFact,
  { isSilent, isSynced }: ImportInput,
): StatusWanted | undefined {
  const isLost = clusters.some((cluster) => !isSynced(cluster) && isSilent(cluster));
  const claims = isLost ? frozenClaims(conditions) : [];
  return claims.length === 0 ? undefined : { clusters, endpointSliceObjects: "Present", claims };
}

function exported(merged: MergedService, input: ImportInput): ImportWanted {
  const { exports, seen, pool, dispute } = input;
  const origin = seen === undefined ? "created" : (seen.origin ?? "adopted");
  const authored = origin === "adopted" ? seen?.authored : undefined;
  const { key } = merged;
  // Another writer may have put in a VIP of another import; one that several list may be this one's.
  const listed = canonicalAddresses([...(seen?.ips ?? []), ...(seen?.previousIps ?? [])]).filter(
    (vip) => dispute(vip) !== "vip-conflict",
  );
  // The VIPs that a user wrote stay, even after a headless export in between.
  const vips = merged.headless
    ? undefined
    : vipsOf(
        key,
        [...usable(input, listed), ...listed],
        merged.families,
        pool,
        authoredIps(authored),
      );
  const families = vips?.vips.map(({ family }) => family) ?? merged.families;
  const own = [...(vips?.vips ?? []), ...(vips?.previous ?? [])];
  return {
    reason: origin === "created" ? "exported" : "adopted",
    object: exportedImport(merged, origin, vips, families, authored, exports),
    vips: textsOf(own).filter((vip) => dispute(vip) === undefined),
    status: {
      clusters: merged.contributors,
      endpointSliceObjects: "Present",
      claims: [vips === undefined ? HEADLESS_READY : readyClaim(vips, vipFaults(vips.vips, input))],
    },
    importing: { ...merged, families },
  };
}

/** A user-managed import: only a missing VIP is allocated. */
function byHand(seen: ImportFact, input: ImportInput): ImportWanted {
  const { pool } = input;
  const reason = "by-hand";
  if (seen.headless) {
    const isTold = seen.conditions.some(saysNoRoom);
    return { reason, ...(isTold && { status: { claims: [HEADLESS_READY] } }) };
  }
  const lacked = seen.conditions.some((one) => isLack(one) || saysNoRoom(one));
  if (seen.ips.length > 0) {
    const listed = seen.ips.map(parseAddress).filter(isAddress);
    const vips = ownOf(seen.ips, input);
    const faults = vipFaults(listed, input);
    if (listed.length === 0 || (faults.size === 0 && !lacked)) return { reason, vips };
    const claims = [readyClaim({ vips: listed, lacking: new Map() }, faults)];
    return { reason, vips, status: { claims } };
  }
  const vips = vipsOf(seen.key, usable(input), familiesOf(seen, pool), pool);
  return {
    reason,
    vips: textsOf(vips.vips),
    ...(vips.vips.length > 0 && { object: givenVips(seen, vips.vips) }),
    ...((lacked || vips.vips.length === 0) && { status: { claims: [readyClaim(vips)] } }),
  };
}

/**
 * The VIPs with an IPAddress that the import may have. One that agents refuse is not given again to an import that was deleted: this
 * is how an operator requests another. One that the import still lists stays: after a mistake in a flag, agents may still serve it.
 */
function usable(
  { held, pool, explicitVipCidrs }: ImportInput,
  listed: readonly string[] = [],
): string[] {
  return held.filter((vip) => {
    const address = parseAddress(vip);
    if (listed.includes(vip) || !isAddress(address)) return true;
    return vipRefusal(address, pool.ranges, explicitVipCidrs) === undefined;
  });
}

/**
 * The listed VIPs that are the import's own. One that is refused stays its own: after a mistake in a flag, another import
 * must not have it.
 */
function ownOf(ips: readonly string[], { dispute }: ImportInput): string[] {
  return canonicalAddresses(ips).filter((vip) => dispute(vip) === undefined);
}

function textsOf(vips: readonly Address[]): string[] {
  return vips.map(({ text }) => text);
}

/** The default family of a Service. */
function familiesOf({ families }: ImportFact, { ranges }: VipPool): readonly Family[] {
  return families.length > 0 ? families : [ranges[0]?.family ?? "IPv4"];
}
