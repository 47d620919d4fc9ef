import { type Family, isAddress, parseAddress } from "../../api/address.ts";
import { classOf } from "../../api/address-class.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import { isFields } from "../../api/parse/fields.ts";
import { jsonOf } from "../../api/parse/json-text.ts";
import type { ProgramResult } from "../system/program-result.ts";
import { type Finding, failing, ok, unknown } from "./finding.ts";

/** The route for a packet that the node itself sends. */
export type RouteFact =
  | {
      readonly kind: "route";
      /** `local` for an address of the node; absent for a unicast route. */
      readonly type?: string;
      readonly device?: string;
      /** The source address of a client that has not bound one. */
      readonly source?: string;
    }
  | { readonly kind: "none" }
  /** A route of this type, which rejects packets. */
  | { readonly kind: "refused"; readonly by: "unreachable" | "blackhole" | "prohibit" };

/** Queries the route to `address`. */
export function routeQuery(address: string, family: Family): [string, ...string[]] {
  return ["ip", family === "IPv4" ? "-4" : "-6", "-j", "route", "get", address];
}

/** Errors of rtnetlink(7) as libc prints them, and the route that causes each. */
const REFUSALS = [
  ["Network is unreachable", { kind: "none" }],
  ["No route to host", { kind: "refused", by: "unreachable" }],
  ["Invalid argument", { kind: "refused", by: "blackhole" }],
  ["Permission denied", { kind: "refused", by: "prohibit" }],
] as const;

/** Parses the result of `routeQuery`; undefined if the query failed. */
export function parseRoute({ status, stdout, stderr }: ProgramResult): RouteFact | undefined {
  if (status !== 0) return REFUSALS.find(([words]) => stderr.includes(words))?.[1];
  const list = jsonOf(stdout);
  const route: unknown = Array.isArray(list) ? list[0] : undefined;
  if (!isFields(route)) return undefined;
  const { type, dev, prefsrc } = route;
  return {
    kind: "route",
    ...(typeof type === "string" && { type }),
    ...(typeof dev === "string" && { device: dev }),
    ...(typeof prefsrc === "string" && { source: prefsrc }),
  };
}

/** True for a unicast route. */
export function isPlain(route: RouteFact | undefined): boolean {
  return route?.kind === "route" && route.type === undefined;
}

/**
 * Whether clients in the node's own network namespace can reach ClusterSetIPs. The kernel looks up the route and the source
 * address before the OUTPUT chains; DNAT then changes the route but not the source. Packets of pods are routed after DNAT.
 */
export function checkRoute(cidr: Cidr, route: RouteFact | undefined): Finding {
  const key = { check: "route", family: cidr.family } as const;
  if (route === undefined)
    return unknown(key, "Cannot query the route: is the program ip (iproute2) installed?");
  const clients = "clients in the node's own network";
  if (route.kind === "none") {
    const advice = `No route covers ${cidr.text}, so ${clients} get "network is unreachable" before our rules apply. Add any route: ${routeAdvice(cidr)}.`;
    return failing(key, "no-route", advice);
  }
  if (route.kind === "refused") {
    const advice = `A route of type ${route.by} covers ${cidr.text}, so ${clients} are rejected before our rules apply. Add a more specific route: ${routeAdvice(cidr)}.`;
    return failing(key, "route-refuses", advice);
  }
  if (route.type === "local") {
    const advice = `${cidr.text} is local to the node (ip route show table local), so ${clients} connect from a ClusterSetIP, and local listeners answer at it. Remove the address or the local route.`;
    return failing(key, "vip-on-node", advice);
  }
  const fault = sourceFault(cidr, route.source);
  if (fault === undefined) return ok(key);
  const advice = `Through ${route.device ?? "its route"}, ${clients} connect to ClusterSetIPs from ${fault}, which no reply can reach. Name the node's address in the route: ${routeAdvice(cidr)}.`;
  return failing(key, "wrong-source", advice);
}

function routeAdvice({ family, text }: Cidr): string {
  const ip = family === "IPv4" ? "ip" : "ip -6";
  return `a default route, or ${ip} route add ${text} dev <uplink> src <node address>`;
}

/** The source address and what is wrong with it; undefined if it may be the node's own. */
function sourceFault(cidr: Cidr, source: string | undefined): string | undefined {
  if (source === undefined) return "no address";
  const address = parseAddress(source);
  if (!isAddress(address)) return `${source} (not an address)`;
  const kind = classOf(address);
  if (kind !== undefined) return `${source} (${kind.replaceAll("-", " ")})`;
  return contains(cidr, address) ? `${source} (a ClusterSetIP)` : undefined;
}
