import { type Family, isAddress, parseAddress } from "../../api/address.ts";
import { classOf } from "../../api/address-class.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import type { Outcome } from "./sight.ts";
import { failing, unknown, type Verdict, well } from "./verdict.ts";

/** Where the kernel would send a packet of this node's own. */
export type RouteFact =
  | {
      readonly kind: "route";
      /** `local` if the node takes the address for its own; absent for a plain route. */
      readonly type?: string;
      readonly device?: string;
      /** The source that a client without one of its own gets. */
      readonly source?: string;
    }
  | { readonly kind: "none" }
  /** A route that exists to refuse: its type. */
  | { readonly kind: "refused"; readonly by: "unreachable" | "blackhole" | "prohibit" };

/** The program that asks the kernel for the route to `address`. */
export function routeQuery(address: string, family: Family): [string, ...string[]] {
  return ["ip", family === "IPv4" ? "-4" : "-6", "-j", "route", "get", address];
}

/** errno of rtnetlink(7), in the C library's words, by what made the kernel answer so. */
const REFUSALS = [
  ["Network is unreachable", { kind: "none" }],
  ["No route to host", { kind: "refused", by: "unreachable" }],
  ["Invalid argument", { kind: "refused", by: "blackhole" }],
  ["Permission denied", { kind: "refused", by: "prohibit" }],
] as const;

/** What `ip route get` said; undefined if it could not ask. PURE. */
export function parseRoute({ status, stdout, stderr }: Outcome): RouteFact | undefined {
  if (status !== 0) return REFUSALS.find(([words]) => stderr.includes(words))?.[1];
  const [route] = jsonList(stdout);
  if (route === undefined) return undefined;
  const { type, dev, prefsrc } = route;
  return {
    kind: "route",
    ...(typeof type === "string" && { type }),
    ...(typeof dev === "string" && { device: dev }),
    ...(typeof prefsrc === "string" && { source: prefsrc }),
  };
}

/** True if packets are sent on by it: neither refused nor kept. */
export function isPlain(route: RouteFact | undefined): boolean {
  return route?.kind === "route" && route.type === undefined;
}

/** The objects of a JSON list; none if it is no list. PURE. */
export function jsonList(text: string): Record<string, unknown>[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter((one) => typeof one === "object" && one) : [];
  } catch {
    return [];
  }
}

/**
 * Whether clients in the node's own network namespace can reach ClusterSetIPs: the kernel looks for a route, and
 * chooses the source by it, before the rules in OUTPUT see a packet; DNAT changes the route afterwards, but not
 * the source. Pods are not concerned: their packets come in, and are routed after DNAT. PURE.
 */
export function judgeRoute(cidr: Cidr, route: RouteFact | undefined): Verdict {
  const place = { check: "route", family: cidr.family } as const;
  if (route === undefined) {
    return unknown(
      place,
      "The route could not be asked for: is the program ip (iproute2) installed?",
    );
  }
  const who = "programs in the node's own network";
  if (route.kind === "none") {
    const advice = `No route leads to ${cidr.text}, so ${who} get "network is unreachable" before our rules see them. Any route will do: ${routeAdvice(cidr)}.`;
    return failing(place, "no-route", advice);
  }
  if (route.kind === "refused") {
    const advice = `A route of type ${route.by} covers ${cidr.text}, so ${who} are refused before our rules see them. Add a more specific one: ${routeAdvice(cidr)}.`;
    return failing(place, "route-refuses", advice);
  }
  if (route.type === "local") {
    const advice = `The node takes ${cidr.text} for its own address (ip route show table local): ${who} would call from a ClusterSetIP, and local listeners answer at it. Remove the address or the local route.`;
    return failing(place, "vip-on-node", advice);
  }
  const fault = sourceFault(cidr, route.source);
  if (fault === undefined) return well(place);
  const advice = `Through ${route.device ?? "its route"}, ${who} would call ClusterSetIPs from ${fault}, where no answer finds them. Name the node's address in the route: ${routeAdvice(cidr)}.`;
  return failing(place, "wrong-source", advice);
}

function routeAdvice({ family, text }: Cidr): string {
  const ip = family === "IPv4" ? "ip" : "ip -6";
  return `a default route, or ${ip} route add ${text} dev <uplink> src <node address>`;
}

/** What is wrong with a source, as an apposition; undefined if it may be the node's own. */
function sourceFault(cidr: Cidr, source: string | undefined): string | undefined {
  if (source === undefined) return "no address at all";
  const address = parseAddress(source);
  if (!isAddress(address)) return `${source}, which is no plain address`;
  const kind = classOf(address);
  if (kind !== undefined) return `${source}, a ${kind.replaceAll("-", " ")}`;
  return contains(cidr, address) ? `${source}, a ClusterSetIP` : undefined;
}
