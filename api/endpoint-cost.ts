/**
 * The cost of an endpoint with session affinity, in that of one without: it has two rules and a list of clients, and the kernel
 * searches all lists for each rule (xt_recent). 25,000 plain rules take 0.7 s, those of 2,500 endpoints with affinity 0.3 s, of
 * 12,500 endpoints 5.5 s (Linux 6.18, iptables-nft).
 */
const AFFINITY = 10;

/**
 * Rules that an endpoint costs a node for each VIP: one for each port that its slice and its import have, ten with session
 * affinity. Agents and controllers count alike, so `--max-rules-per-import` has one meaning.
 */
export function endpointCost(slicePorts: number, importPorts: number, affinity: boolean): number {
  return Math.min(slicePorts, importPorts) * (affinity ? AFFINITY : 1);
}
