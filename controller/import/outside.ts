import { isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import { endpointRangesText } from "../../api/endpoint-ranges.ts";
import type { SliceFact } from "../model/facts.ts";

/** In which ranges other clusters accept endpoints of the local one. */
export interface Accepted {
  /** By who declares them; undefined: a cluster that does not say it. */
  readonly ranges: ReadonlyMap<string, readonly Cidr[] | undefined>;
  /** False while some clusters were not read since the start. */
  readonly isKnown: boolean;
}

/** Endpoints of an export that other clusters reject. */
export interface Outside {
  readonly count: number;
  /** All its endpoints. */
  readonly of: number;
  /** The first of them by its text. */
  readonly example: string;
  /** Who declares the ranges; of several, who rejects most. */
  readonly by: string;
  /** The declared ranges. */
  readonly ranges: string;
  /** Addresses that no other cluster accepts. */
  readonly everywhere: ReadonlySet<string>;
}

/**
 * The endpoints that other clusters reject because they are outside the ranges declared for this cluster, as those of pods on the host
 * network, which have addresses of Nodes. Undefined if there are none, or if no ranges are known.
 */
export function outsideOf(
  slices: readonly SliceFact[],
  { ranges: accepted }: Pick<Accepted, "ranges">,
): Outside | undefined {
  const declared = distinct(accepted);
  if (declared.size === 0) return undefined;
  const addresses = [
    ...new Set(slices.flatMap(({ endpoints }) => endpoints.map(({ address }) => address))),
  ].sort();
  const parsed = addresses.map(parseAddress).filter(isAddress);
  const mayAccept = new Set<string>();
  let most: Omit<Outside, "everywhere"> | undefined;
  for (const [ranges, { by, cidrs }] of declared) {
    const outside: string[] = [];
    for (const address of parsed) {
      if (cidrs.some((cidr) => contains(cidr, address))) mayAccept.add(address.text);
      else outside.push(address.text);
    }
    const [example] = outside;
    const count = outside.length;
    if (example === undefined || count <= (most?.count ?? 0)) continue;
    most = { count, of: addresses.length, example, by, ranges };
  }
  if (most === undefined) return undefined;
  const isUnknown = [...accepted.values()].includes(undefined);
  const everywhere = addresses.filter((address) => !isUnknown && !mayAccept.has(address));
  return { ...most, everywhere: new Set(everywhere) };
}

/** Declared ranges by their text: most clusters declare the same. */
function distinct(accepted: Accepted["ranges"]) {
  const declared = new Map<string, { readonly by: string; readonly cidrs: readonly Cidr[] }>();
  for (const [by, cidrs] of accepted) {
    const text = cidrs && endpointRangesText(cidrs);
    if (cidrs === undefined || text === undefined || declared.has(text)) continue;
    declared.set(text, { by, cidrs });
  }
  return declared;
}
