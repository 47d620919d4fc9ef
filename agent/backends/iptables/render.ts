import type { Family } from "../../../api/address.ts";
import {
  type PlannedEndpoint,
  servicePortName,
  type VirtualService,
} from "../../plan/virtual-service.ts";
import { serviceChain } from "./chain-name.ts";
import { recentList } from "./memory.ts";
import { comment, dnat, host, oneIn, remember, remembered } from "./rule.ts";

/** A chain and its rules, each a whole line of iptables-save: `-A CHAIN …`. */
export interface Chain {
  readonly name: string;
  readonly rules: readonly string[];
}

/**
 * The chain of one service: its endpoints in line, each taken with equal chance (the i-th of n with
 * probability 1/(n-i), so that all come to 1/n). With affinity, a client that is remembered at one of them
 * goes there before anything is drawn; `recentPrefix` is how the names of its lists begin (`recentPrefixes`).
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
  for (const [i, endpoint] of endpoints.entries()) {
    const left = endpoints.length - i;
    const matches = left === 1 ? [] : [oneIn(left)];
    if (affinitySeconds !== undefined) matches.push(remember(list(endpoint), family));
    add(endpoint, ...matches);
  }
  return { name, rules };
}

/** How a dispatch chain leads one VIP and port of a service on: the matches and the target, without `-A`. */
export function renderEntry(service: VirtualService, vip: string): string {
  if (service.endpoints.length > 0) return leadOn(service, vip);
  // A rule that does nothing, so that grep finds the service and why it is refused; the guard refuses it.
  const why = comment(`${servicePortName(service)} ${service.reason}`);
  return `${entryMatch(service, vip)} ${why} -j RETURN`;
}

/** The same for a service that has a chain, whatever stands in it. */
export function leadOn(service: VirtualService, vip: string): string {
  const name = comment(servicePortName(service));
  return `${entryMatch(service, vip)} ${name} -g ${serviceChain(service)}`;
}

function entryMatch({ protocol, port, family }: VirtualService, vip: string): string {
  const word = protocol.toLowerCase();
  return `-d ${host(vip, family)} -p ${word} -m ${word} --dport ${port}`;
}

/** `ns/name:port tier cluster`, and `serving` when only endpoints that are not ready are left. */
function endpointComment(service: VirtualService, endpoint: PlannedEndpoint): string {
  const origin = endpoint.cluster ?? "origin-unknown";
  const state = service.reason === "nearest-serving" ? " serving" : "";
  return `${servicePortName(service)} ${service.tier} ${origin}${state}`;
}

/** How connections that an endpoint opens to its own VIP come back to it: from itself, to itself. */
export function renderHairpin(address: string, family: Family): string {
  return `-s ${host(address, family)} -d ${host(address, family)} ${comment("hairpin")} -j MASQUERADE --random-fully`;
}
