import type { Family } from "../../api/address.ts";
import type { EndpointFact, ServicePort, ServiceProperties, SliceFact } from "../model/facts.ts";

/** Endpoints of one family with the same ports: they can share a slice. */
export interface EndpointGroup {
  readonly family: Family;
  /** In order of name, protocol, number. */
  readonly ports: readonly ServicePort[];
  /** In order of first appearance; addresses are unique. */
  readonly endpoints: readonly EndpointFact[];
}

/** Equal for equal sets of ports of one family, in any order. */
export function groupKey(family: Family, ports: readonly ServicePort[]): string {
  return [family, ...ports.map(portKey).sort()].join("\n");
}

/**
 * Groups the endpoints of a Service by family and ports, in the order of the slices' names. Ports that the Service
 * does not have by name and protocol are left out. Endpoints without ports stay only for a headless Service.
 */
export function endpointGroups(
  service: ServiceProperties,
  slices: readonly SliceFact[],
): EndpointGroup[] {
  const exposed = new Set(service.ports.map(({ name, protocol }) => `${protocol} ${name}`));
  const groups = new Map<string, { group: EndpointGroup; endpoints: Map<string, EndpointFact> }>();
  for (const slice of slices.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    if (!service.families.includes(slice.family)) continue;
    const ports = slice.ports
      .filter(({ name, protocol }) => exposed.has(`${protocol} ${name}`))
      .sort((a, b) => (portKey(a) < portKey(b) ? -1 : 1));
    if (ports.length === 0 && !service.headless) continue;
    const key = groupKey(slice.family, ports);
    const known = groups.get(key);
    const endpoints = known?.endpoints ?? new Map<string, EndpointFact>();
    if (known === undefined) {
      groups.set(key, { group: { family: slice.family, ports, endpoints: [] }, endpoints });
    }
    for (const endpoint of slice.endpoints) addTo(endpoints, endpoint);
  }
  return [...groups.values()]
    .map(({ group, endpoints }) => ({ ...group, endpoints: [...endpoints.values()] }))
    .filter(({ endpoints }) => endpoints.length > 0);
}

/** While Kubernetes moves an endpoint, two slices list it: the better state counts, as in kube-proxy. */
function addTo(endpoints: Map<string, EndpointFact>, endpoint: EndpointFact): void {
  const other = endpoints.get(endpoint.address);
  if (other === undefined || worth(endpoint) > worth(other)) {
    endpoints.set(endpoint.address, endpoint);
  }
}

function worth({ ready, serving, terminating }: EndpointFact): number {
  return (ready ? 4 : 0) + (serving ? 2 : 0) + (terminating ? 0 : 1);
}

function portKey({ name, protocol, port, appProtocol }: ServicePort): string {
  return `${name} ${protocol} ${port} ${appProtocol ?? ""}`;
}
