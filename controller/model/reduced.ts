import { canonicalAddresses } from "../../api/address.ts";
import type { Condition } from "./condition.ts";
import type { ExportFact, ImportFact, ServiceFact } from "./facts.ts";
import type { ImportedSliceFact } from "./parse-imported-slice.ts";

/** More than the controller writes. */
const MOST_MESSAGE_CHARACTERS = 4096;
/** More than an address has, so that no beginning of a text is one. */
const MOST_IP_CHARACTERS = 64;
/** Exporters of an import that are kept; a clusterset has fewer. */
const MOST_CLUSTERS = 256;

/**
 * What is kept of an import beyond its namespace's share of memory. Its VIPs stay: a VIP that seems free would be given to another import. A list of clusters
 * that must not be left is empty, as one that cannot be read.
 */
export function reducedImport(fact: ImportFact): ImportFact {
  const { authored: _authored, exports: _exports, ...rest } = fact;
  return {
    ...rest,
    isReduced: true,
    ips: reducedIps(fact.ips),
    ports: [],
    tiers: fact.tiers.onlySelected ? { selectors: [], onlySelected: true } : {},
    clusters: fact.clusters.slice(0, MOST_CLUSTERS),
    conditions: ownConditions(fact.conditions, ["Ready"]),
  };
}

/** The addresses. If none is valid, the beginning of one: an import without any would be given a VIP in place of what its user wrote. */
function reducedIps(ips: readonly string[]): string[] {
  const valid = canonicalAddresses(ips);
  return valid.length > 0 ? valid : ips.slice(0, 1).map((ip) => ip.slice(0, MOST_IP_CHARACTERS));
}

/** What is kept of a ServiceExport beyond its namespace's share of memory: its condition says that it is not published. */
export function reducedExport(fact: ExportFact): ExportFact {
  return {
    ...fact,
    isReduced: true,
    metadata: { labels: {}, annotations: {} },
    conditions: ownConditions(fact.conditions, ["Valid", "Ready", "Conflict"]),
  };
}

/** What is kept of a Service beyond its namespace's share of memory. */
export function reducedService(fact: ServiceFact): ServiceFact {
  const { properties } = fact;
  return {
    ...fact,
    isReduced: true,
    ...(properties !== undefined && { properties: { ...properties, ports: [] } }),
  };
}

/** What is kept of an imported slice beyond its namespace's share of memory: whose it is, and whether it changes when its cluster is stale. */
export function reducedImportedSlice(fact: ImportedSliceFact): ImportedSliceFact {
  return { ...fact, isReduced: true, ports: [] };
}

/** The first condition of each type, if the controller may have written it. */
function ownConditions(conditions: readonly Condition[], types: readonly string[]): Condition[] {
  return types.flatMap((type) => {
    const found = conditions.find((one) => one.type === type);
    return found === undefined || found.message.length > MOST_MESSAGE_CHARACTERS ? [] : [found];
  });
}
