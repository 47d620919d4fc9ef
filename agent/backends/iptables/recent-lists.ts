import type { VirtualService } from "../../plan/virtual-service.ts";

/**
 * The services of one import and family, each with the prefix of its `recent` lists; `recentList` makes the whole name.
 *
 * Ports with the same endpoints share their lists, so that a client has the same endpoint on all of them. Ports with other
 * endpoints have lists of their own: otherwise one port would move the clients of another. The first port, and those that share
 * its endpoints, have the plain prefix, so that scaling keeps affinity.
 */
export function recentPrefixes(
  services: readonly VirtualService[],
): [service: VirtualService, prefix: string][] {
  const prefixes = new Map<string, string>();
  return services.map((service) => {
    const addresses = addressSet(service);
    const own = prefixes.size === 0 ? plainPrefix(service) : portPrefix(service);
    const prefix = prefixes.get(addresses) ?? own;
    prefixes.set(addresses, prefix);
    return [service, prefix];
  });
}

/**
 * The list of one endpoint's clients: at most 182 characters of XT_RECENT_NAME_LEN's 199. The kernel deletes it with the last
 * rule that names it, so an endpoint that left and returns has no clients.
 */
export function recentList(prefix: string, address: string): string {
  return `${prefix}-${address}`;
}

/** Unique, because labels have no dots. */
function plainPrefix({ importKey }: VirtualService): string {
  return `CSP-${importKey.replace("/", ".")}`;
}

/** With the port's number, because its name may be too long for the kernel. */
function portPrefix(service: VirtualService): string {
  return `${plainPrefix(service)}.${service.port}-${service.protocol.toLowerCase()}`;
}

/** Equal texts for equal sets; empty without affinity, which needs no lists. */
function addressSet({ affinitySeconds, endpoints }: VirtualService): string {
  if (affinitySeconds === undefined) return "";
  return [...new Set(endpoints.map(({ address }) => address))].sort().join();
}
