import type { Address, Family } from "../../api/address.ts";
import { ANNOTATION_AUTHORED, ANNOTATION_IMPORT } from "../../api/keys.ts";
import type { MergedService } from "../merge/merged.ts";
import { encodePort, encodeProperties } from "../model/encode-service.ts";
import type { ImportFact } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import { mcsObject } from "../model/mcs-object.ts";
import { authoredSpec } from "./authored-spec.ts";

/**
 * The ServiceImport of a merged service. `ips` is always there, empty for a headless one: what is absent would be
 * left to others. `families` are those of the VIPs, in their order, or a headless service's own.
 */
export function exportedImport(
  merged: MergedService,
  origin: "adopted" | "created",
  vips: readonly Address[],
  families: readonly Family[],
  authored: string | undefined,
): Manifest {
  const { labels, annotations } = merged.metadata;
  return {
    ...mcsObject("ServiceImport", merged.key, labels, {
      ...annotations,
      [ANNOTATION_IMPORT]: origin,
      ...(authored !== undefined && { [ANNOTATION_AUTHORED]: authored }),
    }),
    spec: {
      ...encodeProperties(merged),
      ips: vips.map(({ text }) => text),
      // Two addresses of one family, as only a person writes them, cannot be told: families are named once.
      ...(new Set(families).size === families.length && { ipFamilies: families }),
    },
  };
}

/**
 * An import that was adopted, handed back: its spec is what its author wrote, and the marks of ours go. If that is
 * lost, it keeps what it cannot be without, and its VIPs.
 */
export function releasedImport(seen: ImportFact): Manifest {
  const { key, headless, ports, ips, families } = seen;
  const spec = authoredSpec(seen.authored) ?? {
    type: headless ? "Headless" : "ClusterSetIP",
    ports: ports.map(encodePort),
    ips,
    ...(families.length > 0 && { ipFamilies: families }),
  };
  return { ...mcsObject("ServiceImport", key), spec };
}

/** The VIPs of an import that somebody wrote by hand without any. */
export function givenVips({ key }: ImportFact, vips: readonly Address[]): Manifest {
  return { ...mcsObject("ServiceImport", key), spec: { ips: vips.map(({ text }) => text) } };
}
