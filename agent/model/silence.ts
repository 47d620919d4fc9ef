/** Endpoints that do not answer this node's connections, as `agent/health` has found. */
export interface Silence {
  /** TCP ports by canonical address; for each, when it was found: milliseconds of the clock. */
  readonly endpoints: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** IDs of clusters of which no endpoint answers; an empty one stands for endpoints of unknown origin. */
  readonly clusters: ReadonlySet<string>;
}

/** Everything answers. */
export const NO_SILENCE: Silence = { endpoints: new Map(), clusters: new Set() };

/** Addresses and clusters of which one says something else than the other. PURE. */
export function silenceChanges(
  before: Silence,
  after: Silence,
): { readonly addresses: ReadonlySet<string>; readonly clusters: ReadonlySet<string> } {
  const all = new Set([...before.endpoints.keys(), ...after.endpoints.keys()]);
  const portsOf = ({ endpoints }: Silence, address: string) =>
    [...(endpoints.get(address) ?? [])].join(" ");
  const addresses = [...all].filter((one) => portsOf(before, one) !== portsOf(after, one));
  return {
    addresses: new Set(addresses),
    clusters: before.clusters.symmetricDifference(after.clusters),
  };
}
