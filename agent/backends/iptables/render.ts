import {
  clusterGroups,
  type PlannedEndpoint,
  servicePortName,
  type VirtualService,
} from "../../plan/virtual-service.ts";
import { GUARD, serviceChain } from "./chain-name.ts";
import { recentList } from "./recent-lists.ts";
import { comment, dnat, host, remember, remembered, withProbability } from "./rule.ts";

/** A chain and its rules, each a whole line of iptables-save: `-A CHAIN …`. */
export interface Chain {
  readonly name: string;
  readonly rules: readonly string[];
}

/**
 * The chain of one service: its endpoints with their chances (`chancesOf`). With affinity, rules for known clients come first;
 * `recentPrefix` is the prefix of their lists (`recentPrefixes`).
 */
export function renderService(service: VirtualService, recentPrefix: string): Chain {
  const name = serviceChain(service);
  const { affinitySeconds, endpoints, family } = service;
  const rules: string[] = [];
  const list = (endpoint: PlannedEndpoint) => recentList(recentPrefix, endpoint.address);
  const add = (endpoint: PlannedEndpoint, ...matches: string[]) =>
    rules.push(
      [
        `-A ${name} -p ${service.protocol.toLowerCase()}`,
        comment(endpointComment(service, endpoint)),
        ...matches,
        dnat(endpoint.address, endpoint.port, family),
      ].join(" "),
    );
  if (affinitySeconds !== undefined) {
    for (const endpoint of endpoints) {
      add(endpoint, remembered(list(endpoint), affinitySeconds, family));
    }
  }
  const chances = chancesOf(service);
  for (const [i, endpoint] of endpoints.entries()) {
    const isLast = i === endpoints.length - 1;
    const matches = isLast ? [] : [withProbability(chances[i] ?? 0)];
    if (affinitySeconds !== undefined) matches.push(remember(list(endpoint), family));
    add(endpoint, ...matches);
  }
  return { name, rules };
}

/** The rule of a dispatch chain for one VIP of a service, without `-A`. */
export function renderEntry(service: VirtualService, vip: string): string {
  if (service.endpoints.length > 0) return leadOn(service, vip);
  // The guard rejects it; this rule only makes the service and the reason visible in listings.
  const why = comment(`${servicePortName(service)} ${service.reason}`);
  return `${entryMatch(service, vip)} ${why} -j RETURN`;
}

/** The same for a service that has a chain. */
export function leadOn(service: VirtualService, vip: string): string {
  const name = comment(servicePortName(service));
  return `${entryMatch(service, vip)} ${name} -g ${serviceChain(service)}`;
}

/** The guard's rule for a rule of a dispatch chain: the same VIP, port and comment. */
export function guardEntry(dispatchEntry: string): string {
  return dispatchEntry.replace(/ -[gj] \S+$/, ` -g ${GUARD}`);
}

function entryMatch({ protocol, port, family }: VirtualService, vip: string): string {
  const word = protocol.toLowerCase();
  return `-d ${host(vip, family)} -p ${word} -m ${word} --dport ${port}`;
}

/** `ns/name:port tier cluster`, and `serving` if no endpoint is ready. */
function endpointComment(service: VirtualService, endpoint: PlannedEndpoint): string {
  const origin = endpoint.cluster ?? "origin-unknown";
  const state = service.reason === "nearest-serving" ? " serving" : "";
  return `${servicePortName(service)} ${service.tier} ${origin}${state}`;
}

/**
 * The chance of each endpoint's rule, in order, for a connection that no earlier rule took: its share of what is left, so that the last rule takes
 * the rest. With equal shares the i-th of n has 1/(n-i). PURE.
 */
export function chancesOf(service: VirtualService): number[] {
  const { endpoints, shares } = service;
  if (shares === undefined) return endpoints.map((_, i) => 1 / (endpoints.length - i));
  const parts = new Map<PlannedEndpoint, number>();
  for (const group of clusterGroups(service)) {
    for (const one of group.endpoints) parts.set(one, group.weight / group.endpoints.length);
  }
  let left = 0;
  const chances: number[] = [];
  for (const endpoint of endpoints.toReversed()) {
    const part = parts.get(endpoint) ?? 0;
    left += part;
    chances.push(part / left);
  }
  return chances.reverse();
}
