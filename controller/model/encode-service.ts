import type { EndpointFact, ServicePort, ServiceProperties, SliceFact } from "./facts.ts";
import type { Json } from "./manifest.ts";

/** `spec` of a ServiceImport, as far as a Service's properties make it: all but `ipFamilies`, which go with `ips`. */
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

/** What an EndpointSlice holds beside its metadata. */
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

/** A port of a ServiceImport or of a slice. The protocol is always there: the CRD has no default for it. */
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
