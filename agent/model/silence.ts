/**
 * How certain it is that an endpoint does not answer. *Shown*: it left SYNs or probes unanswered, or all of its cluster did. *Suspected*: others of
 * its import and cluster did, and it has not been tried; or it answers again, but its verdict is held.
 */
export type Silent = "shown" | "suspected";

/** Endpoints that do not answer this node's connections, as `agent/health` has found. */
export interface Silence {
  /** By canonical address and TCP port. */
  readonly endpoints: ReadonlyMap<string, ReadonlyMap<number, Silent>>;
  /**
   * IDs of clusters that do not answer; an empty one stands for endpoints of unknown origin. For each, the namespace whose endpoints answer all the same, or an
   * empty text.
   */
  readonly clusters: ReadonlyMap<string, string>;
  /** Those of these clusters that answer again: their verdicts are held, because they came and went. */
  readonly held: ReadonlySet<string>;
}

/** Everything answers. */
export const NO_SILENCE: Silence = { endpoints: new Map(), clusters: new Map(), held: new Set() };

/** Addresses and clusters of which one says something else than the other. PURE. */
export function silenceChanges(
  before: Silence,
  after: Silence,
): { readonly addresses: ReadonlySet<string>; readonly clusters: ReadonlySet<string> } {
  const all = new Set([...before.endpoints.keys(), ...after.endpoints.keys()]);
  const portsOf = ({ endpoints }: Silence, address: string) =>
    [...(endpoints.get(address) ?? [])].flat().join(" ");
  const clusterOf = ({ clusters, held }: Silence, id: string) =>
    clusters.has(id) ? `${clusters.get(id)} ${held.has(id)}` : undefined;
  const addresses = [...all].filter((one) => portsOf(before, one) !== portsOf(after, one));
  return {
    addresses: new Set(addresses),
    clusters: new Set(
      [...before.clusters.keys(), ...after.clusters.keys()].filter(
        (one) => clusterOf(before, one) !== clusterOf(after, one),
      ),
    ),
  };
}
