import type { EndpointFact, ServicePort, ServiceProperties, SliceFact } from "./facts.ts";
import type { Json } from "./manifest.ts";

/** `spec` of a ServiceImport without `ipFamilies`, which depend on its VIPs. */
export function encodeProperties(
  service: Omit<ServiceProperties, "families">,
): Readonly<Record<string, Json>> {
  return {
    type: service.headless ? "Headless" : "ClusterSetIP",
    ports: service.ports.map(encodePort),
    sessionAffinity: service.sessionAffinity,
    ...(service.affinitySeconds !== undefined && {
      sessionAffinityConfig: { clientIP: { timeoutSeconds: service.affinitySeconds } },
    }),
    ...(service.internalTrafficPolicy !== undefined && {
      internalTrafficPolicy: service.internalTrafficPolicy,
    }),
    ...(service.trafficDistribution !== undefined && {
      trafficDistribution: service.trafficDistribution,
    }),
  };
}

/** The content of an EndpointSlice. */
export function encodeContent({
  family,
  ports,
  endpoints,
}: Pick<SliceFact, "family" | "ports" | "endpoints">): Readonly<Record<string, Json>> {
  return {
    addressType: family,
    ports: ports.map(encodePort),
    endpoints: endpoints.map(encodeEndpoint),
  };
}

/** A port of a ServiceImport or slice. The CRD has no default for the protocol. */
export function encodePort({ name, protocol, port, appProtocol }: ServicePort): Json {
  return { name, protocol, port, ...(appProtocol !== undefined && { appProtocol }) };
}

function encodeEndpoint(endpoint: EndpointFact): Json {
  const { address, ready, serving, terminating, hostname, nodeName, zone } = endpoint;
  return {
    addresses: [address],
    conditions: { ready, serving, terminating },
    ...(hostname !== undefined && { hostname }),
    ...(nodeName !== undefined && { nodeName }),
    ...(zone !== undefined && { zone }),
  };
}
