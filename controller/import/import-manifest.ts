import type { Address, Family } from "../../api/address.ts";
import {
  ANNOTATION_AUTHORED,
  ANNOTATION_EXPORTS,
  ANNOTATION_IMPORT,
  ANNOTATION_PREVIOUS_IPS,
} from "../../api/keys.ts";
import { isFields } from "../../api/parse/fields.ts";
import { parseJsonText } from "../../api/parse/json-text.ts";
import type { Vips } from "../allocate/vips.ts";
import type { MergedService } from "../merge/merged.ts";
import { encodePort, encodeProperties } from "../model/encode-service.ts";
import type { ImportFact } from "../model/facts.ts";
import type { JsonFields, Manifest } from "../model/manifest.ts";
import { mcsObject } from "../model/manifest.ts";

/**
 * The ServiceImport of a merged service. `ips` is always present, so that no other writer owns it. `vips`: absent for a
 * headless service. `families`: those of the VIPs, or of the headless service. `exports`: of other clusters, from
 * `exportsAnnotation`.
 */
export function exportedImport(
  merged: MergedService,
  origin: "adopted" | "created",
  vips: Pick<Vips, "previous" | "vips"> | undefined,
  families: readonly Family[],
  authored: string | undefined,
  exports: string | undefined,
): Manifest {
  const { labels, annotations } = merged.metadata;
  const previous = vips?.previous ?? [];
  return {
    ...mcsObject("ServiceImport", merged.key, labels, {
      ...annotations,
      [ANNOTATION_IMPORT]: origin,
      ...(authored !== undefined && { [ANNOTATION_AUTHORED]: authored }),
      ...(exports !== undefined && { [ANNOTATION_EXPORTS]: exports }),
      ...(previous.length > 0 && { [ANNOTATION_PREVIOUS_IPS]: textsOf(previous).join(",") }),
    }),
    spec: {
      ...encodeProperties(merged),
      ips: textsOf(vips?.vips ?? []),
      // The API allows each family once.
      ...(new Set(families).size === families.length && { ipFamilies: families }),
    },
  };
}

/**
 * A released import: the spec that the user wrote, without our annotations. If that spec is lost, the essential
 * fields and VIPs stay.
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

/** Adds VIPs to a user-managed import. */
export function givenVips({ key }: ImportFact, vips: readonly Address[]): Manifest {
  return { ...mcsObject("ServiceImport", key), spec: { ips: textsOf(vips) } };
}

function textsOf(vips: readonly Address[]): string[] {
  return vips.map(({ text }) => text);
}

/** Bounds the depth of the parsed JSON. */
const MOST_DEPTH = 20;

/** The spec that a user wrote (`ImportFact.authored`); undefined if it is lost. */
function authoredSpec(authored: string | undefined): JsonFields | undefined {
  const value =
    authored === undefined ? undefined : parseJsonText(authored, authored.length, MOST_DEPTH);
  return isJsonFields(value) ? value : undefined;
}

/** The VIPs that a user wrote, valid or not. */
export function authoredIps(authored: string | undefined): string[] {
  const ips = authoredSpec(authored)?.ips;
  return Array.isArray(ips) ? ips.filter((ip) => typeof ip === "string") : [];
}

function isJsonFields(value: unknown): value is JsonFields {
  return isFields(value);
}
