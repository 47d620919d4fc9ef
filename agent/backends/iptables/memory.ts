import type { VirtualService } from "../../plan/virtual-service.ts";

/**
 * The services of one import and family, each with how the names of its `recent` lists begin; `recentList`
 * makes the whole name.
 *
 * Ports with the same endpoints share their lists, so that a client has one endpoint over all of them. Ports
 * with other endpoints must not: a client that one port may send only to A would be remembered at A, and the
 * other port would move it there from B. Those that go with the import's first port have the plain name, so
 * that scaling, which changes the set of all alike, forgets nobody.
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
 * The list of one endpoint's clients: at most 182 characters, where XT_RECENT_NAME_LEN leaves 199. It lives in
 * /proc/net/xt_recent for as long as a rule names it, so that an endpoint which left and returns starts without
 * memory.
 */
export function recentList(prefix: string, address: string): string {
  return `${prefix}-${address}`;
}

/** Labels have no dots, and addresses of one family equally many: no two imports or ports meet in a name. */
function plainPrefix({ importKey }: VirtualService): string {
  return `CSP-${importKey.replace("/", ".")}`;
}

/** By number, not by name: three labels of 63 characters and an IPv6 address are more than the kernel takes. */
function portPrefix(service: VirtualService): string {
  return `${plainPrefix(service)}.${service.port}-${service.protocol.toLowerCase()}`;
}

/** Equal texts for equal sets; without affinity nobody asks. */
function addressSet({ affinitySeconds, endpoints }: VirtualService): string {
  if (affinitySeconds === undefined) return "";
  return [...new Set(endpoints.map(({ address }) => address))].sort().join();
}
