import { type EndpointFact, Endpoints } from "../../agent/model/endpoints.ts";
import type { ImportFact, SliceFact } from "../../agent/model/facts.ts";
import { counted } from "../../api/count.ts";
import type { ObjectKey } from "../../api/names.ts";

/** Facts that a simulation changes. */
export interface Facts {
  readonly imports: ReadonlyMap<ObjectKey, ImportFact>;
  readonly slices: ReadonlyMap<ObjectKey, SliceFact>;
}

/** The endpoints of one import in one cluster, scaled. */
export interface Scaling {
  readonly importKey: ObjectKey;
  readonly cluster: string;
  /** Endpoints that are ready then. */
  readonly ready: number;
}

/** The clusters are gone: they withdraw all exports, or their endpoints are dead for good. PURE. */
export function without<F extends Facts>(facts: F, clusters: ReadonlySet<string>): F {
  return mapSlices(facts, (slice) => (clusters.has(slice.cluster ?? "") ? undefined : slice));
}

/** The clusters are drained, as the controller writes it: ready endpoints are serving. PURE. */
export function drained<F extends Facts>(facts: F, clusters: ReadonlySet<string>): F {
  return mapSlices(facts, (slice) =>
    clusters.has(slice.cluster ?? "")
      ? withEndpoints(slice, (one) =>
          one.condition === "ready" ? { ...one, condition: "serving" } : one,
        )
      : slice,
  );
}

/**
 * So many endpoints are ready, those first that are now, and the others gone, in each family. A message if the slices list fewer: addresses
 * and zones of more cannot be known. PURE.
 */
export function scaled<F extends Facts>(facts: F, scaling: Scaling): F | string {
  const { importKey, cluster, ready } = scaling;
  const isMeant = (slice: SliceFact) => slice.importKey === importKey && slice.cluster === cluster;
  const slices = [...facts.slices.values()].filter(isMeant);
  if (slices.length === 0) return `${importKey} has no slice of cluster ${cluster}`;
  const kept = new Set<string>();
  for (const family of new Set(slices.map((slice) => slice.family))) {
    // An address can be in several slices, which have other ports.
    const known = new Map<string, boolean>();
    for (const slice of slices.filter((one) => one.family === family)) {
      for (const { address, condition } of slice.endpoints) {
        known.set(address, (known.get(address) ?? false) || condition === "ready");
      }
    }
    if (ready > known.size) {
      return `${importKey} has ${counted(known.size, `${family} endpoint`)} in cluster ${cluster}; ${ready} cannot be simulated`;
    }
    const order = [...known].sort(([, a], [, b]) => Number(b) - Number(a));
    for (const [address] of order.slice(0, ready)) kept.add(address);
  }
  return mapSlices(facts, (slice) =>
    isMeant(slice)
      ? withEndpoints(slice, (one) =>
          kept.has(one.address) ? { ...one, condition: "ready" } : undefined,
        )
      : slice,
  );
}

function withEndpoints(
  slice: SliceFact,
  change: (endpoint: EndpointFact) => EndpointFact | undefined,
): SliceFact {
  const endpoints = [...slice.endpoints].flatMap((one) => change(one) ?? []);
  return { ...slice, endpoints: Endpoints.of(slice.family, endpoints) };
}

function mapSlices<F extends Facts>(
  facts: F,
  change: (slice: SliceFact) => SliceFact | undefined,
): F {
  const slices = new Map<ObjectKey, SliceFact>();
  for (const [key, slice] of facts.slices) {
    const changed = change(slice);
    if (changed !== undefined) slices.set(key, changed);
  }
  return { ...facts, slices };
}
