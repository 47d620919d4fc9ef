import { at, type Fields } from "../doubles/memory/fields.ts";
import { servicePort } from "../generators/export-records.ts";

/** Resources by kind. */
export const KINDS: Readonly<Record<string, string>> = {
  ClusterProperty: "clusterproperties",
  EndpointSlice: "endpointslices",
  IPAddress: "ipaddresses",
  Namespace: "namespaces",
  Node: "nodes",
  Pod: "pods",
  Secret: "secrets",
  Service: "services",
  ServiceExport: "serviceexports",
  ServiceImport: "serviceimports",
};

/** What an owner says of a Service, by default one with a ClusterIP and the port `http 80`. */
export interface Serving {
  /** As of `servicePort`. */
  readonly ports?: readonly string[];
  /** How much higher the numbers are on which its pods listen. */
  readonly podPorts?: number;
  readonly families?: readonly string[];
  readonly isHeadless?: boolean;
  readonly affinity?: "ClientIP" | "None";
  /** Endpoints that are not ready. */
  readonly dead?: readonly string[];
}

interface ServiceManifest extends Fields {
  readonly addressType?: string;
  readonly endpoints?: readonly Fields[];
}

/** A Service with these endpoints, and its slices: one of each family. */
export function serviceManifests(
  key: string,
  addresses: readonly string[],
  {
    ports: words = ["http 80"],
    podPorts = 0,
    families = ["IPv4"],
    isHeadless = false,
    affinity = "None",
    dead = [],
  }: Serving,
): ServiceManifest[] {
  const [namespace = "", name = ""] = key.split("/");
  const ports = words.map(servicePort).map((port) => ({ ...port }));
  const clusterIP = isHeadless ? "None" : "10.96.0.9";
  const spec = { type: "ClusterIP", clusterIP, ipFamilies: families, ports };
  const slice = (addressType: string, sliceName: string): ServiceManifest => ({
    kind: "EndpointSlice",
    metadata: { namespace, name: sliceName, labels: { "kubernetes.io/service-name": name } },
    addressType,
    ports: ports.map((port) => ({ ...port, port: port.port + podPorts })),
    endpoints: addresses
      .filter((one) => one.includes(":") === (addressType === "IPv6"))
      .map((address) => ({
        addresses: [address],
        conditions: { ready: !dead.includes(address) },
      })),
  });
  return [
    {
      kind: "Service",
      metadata: { namespace, name },
      spec: { ...spec, sessionAffinity: affinity },
    },
    slice("IPv4", `${name}-1`),
    slice("IPv6", `${name}-v6`),
  ];
}

/** `namespace/name` of an object, or its name. */
export function keyOf(object: Fields): string {
  const text = (name: string): string => {
    const value = at(object, ["metadata", name]);
    return typeof value === "string" ? value : "";
  };
  const namespace = text("namespace");
  return namespace === "" ? text("name") : `${namespace}/${text("name")}`;
}
