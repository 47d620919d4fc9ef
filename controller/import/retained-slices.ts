import { joint } from "../merge/port-names.ts";
import type { ExportRecord } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import type { ImportedSliceFact } from "../model/parse-imported-slice.ts";
import { type Importing, retainedPorts } from "./imported-slices.ts";
import { changedSlice, restoredContent, staleContent } from "./slice-manifest.ts";

/** What decides about an imported slice of a cluster that was not listed since the start. */
export interface Retention {
  readonly service: Importing;
  readonly isInRotation: boolean;
  /** What the cluster last exported; undefined: unknown, so the slice keeps its ports. */
  readonly record: ExportRecord | undefined;
}

/**
 * Whether such a slice changes. Its endpoints are a last resort, or no longer one (`inUse`), as of a listed cluster out of
 * rotation. Its ports have the import's names, and it loses those that the import no longer has with the number of its cluster.
 */
export function retentionOf(
  slice: ImportedSliceFact,
  { service, isInRotation, record }: Retention,
): "changed" | "kept" | "removed" {
  const isKnown = record !== undefined && slice.isReduced === undefined;
  const ports = isKnown ? retainedPorts(service, record)(slice) : slice.ports;
  if (typeof ports === "string") return "removed";
  const turns = !isInRotation && (service.headless ? slice.held : slice.ready);
  const isSame = ports.map(joint).join() === slice.ports.map(joint).join();
  return turns || !isSame ? "changed" : "kept";
}

/** The slice as it is retained; undefined if the object is no imported slice. */
export function retainedSlice(
  object: unknown,
  { service, isInRotation, record }: Retention,
): Manifest | undefined {
  return changedSlice(object, (content) => {
    const isEmpty = content.endpoints.length === 0;
    const ports = record && retainedPorts(service, record)({ ...content, isEmpty });
    const kept = Array.isArray(ports) ? { ...content, ports } : content;
    if (isInRotation) return kept;
    return service.headless ? restoredContent(kept) : staleContent(kept);
  });
}
