import type { Address, Family } from "../../api/address.ts";
import { ANNOTATION_IMPORT } from "../../api/keys.ts";
import type { MergedService } from "../merge/merged.ts";
import { encodePort, encodeProperties } from "../model/encode-service.ts";
import type { ImportFact } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import { mcsObject } from "../model/mcs-object.ts";

/**
 * The ServiceImport of a merged service. `ips` is always there, empty for a headless one: what is absent would be
 * left to others. `families` are those of the VIPs, in their order, or a headless service's own.
 */
export function exportedImport(
  merged: MergedService,
  origin: "adopted" | "created",
  vips: readonly Address[],
  families: readonly Family[],
): Manifest {
  const { labels, annotations } = merged.metadata;
  return {
    ...mcsObject("ServiceImport", merged.key, labels, {
      ...annotations,
      [ANNOTATION_IMPORT]: origin,
    }),
    spec: {
      ...encodeProperties(merged),
      ips: vips.map(({ text }) => text),
      // Two addresses of one family, as only a person writes them, cannot be told: families are named once.
      ...(new Set(families).size === families.length && { ipFamilies: families }),
    },
  };
}

/** An import that was adopted, handed back: what it cannot be without, and its VIPs. The marks of ours go. */
export function releasedImport({ key, headless, ports, ips, families }: ImportFact): Manifest {
  return {
    ...mcsObject("ServiceImport", key),
    spec: {
      type: headless ? "Headless" : "ClusterSetIP",
      ports: ports.map(encodePort),
      ips,
      ...(families.length > 0 && { ipFamilies: families }),
    },
  };
}

/** The VIPs of an import that somebody wrote by hand without any. */
export function givenVips({ key }: ImportFact, vips: readonly Address[]): Manifest {
  return { ...mcsObject("ServiceImport", key), spec: { ips: vips.map(({ text }) => text) } };
}
