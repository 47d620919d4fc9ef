import type { Family } from "../../api/address.ts";
import type { SliceFact as ServiceSlice } from "../../controller/model/facts.ts";

/** Endpoints of one cluster and IP family that failover slices list. */
export interface PreparedEndpoints {
  readonly cluster: string;
  readonly family: Family;
  readonly endpoints: number;
  /** How many of them are ready in their cluster; absent if that is not known. The others are the last resort. */
  readonly ready?: number;
}

/** An imported slice, as far as the readiness of its endpoints is concerned. Agents' facts are. */
interface ImportedSlice {
  readonly cluster?: string;
  readonly endpoints: Iterable<{ readonly address: string; readonly condition: string }>;
}

/** Imported slices of the same name; undefined: there is no import. */
export type ReadyImported = readonly ImportedSlice[] | undefined;

/**
 * What failover slices list, by cluster and family. Their own conditions depend on local endpoints, and say nothing about
 * readiness in their cluster; those of the imported slices do. PURE.
 */
export function preparedIn(
  slices: readonly ServiceSlice[],
  imported: ReadyImported,
): PreparedEndpoints[] {
  const groups = Map.groupBy(slices, ({ family, source = "?" }) => `${source} ${family}`);
  const ready = new Set(imported?.flatMap(readyIn));
  return [...groups.keys()].sort().flatMap((name) => {
    const [first, ...rest] = groups.get(name) ?? [];
    if (first === undefined) return [];
    const { family, source = "?" } = first;
    const addresses = new Set(
      [first, ...rest].flatMap(({ endpoints }) => endpoints.map(({ address }) => address)),
    );
    if (addresses.size === 0) return [];
    const known = [...addresses].filter((address) => ready.has(`${source} ${address}`)).length;
    return [
      {
        ...{ cluster: source, family, endpoints: addresses.size },
        ...(imported !== undefined && { ready: known }),
      },
    ];
  });
}

function readyIn({ cluster, endpoints }: ImportedSlice): string[] {
  return [...endpoints].flatMap(({ address, condition }) =>
    condition === "ready" ? [`${cluster} ${address}`] : [],
  );
}
