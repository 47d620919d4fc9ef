import { importObject, sliceObject } from "../test/generators/objects.ts";
import { vipOf } from "./services.ts";

/** One endpoint as it is written. */
export interface Endpoint {
  readonly address: string;
  readonly ready: boolean;
}

/** How a service and its slice are written to an API server. */
export interface Shape {
  /** Where the service that changes is called. */
  readonly vip: string;
  /** That service. */
  live(): object;
  /** The `n`-th of the others, from 1 on. */
  other(n: number): object;
  slice(name: string, endpoints: readonly Endpoint[]): object;
}

export const NAMESPACE = "bench";
/** The name of the service that changes. */
export const LIVE = "live";
/** The name of the `n`-th of the others. */
export const nameOf = (n: number): string => `service-${n}`;
/** The agent's cluster, region and node. */
export const HOME = { cluster: "c1", region: "eu-west" } as const;

const HTTP = { name: "http", protocol: "TCP", port: 80 };
const TARGET = { ...HTTP, port: 8080 };

/** A service of the clusterset, as our agent reads it. */
export const IMPORTS: Shape = {
  vip: "241.0.1.7",
  live: () => importOf(LIVE, IMPORTS.vip),
  other: (n) => importOf(nameOf(n), vipOf(n)),
  slice: (name, endpoints) =>
    sliceObject(`${name}-c1`, `${NAMESPACE}/${name}`, HOME, [TARGET], endpoints.map(written)),
};

/** A Service of one cluster, as kube-proxy reads it. */
export const SERVICES: Shape = {
  vip: "10.96.0.50",
  live: () => serviceOf(LIVE, { clusterIP: SERVICES.vip }),
  // With 10,000 services, the API server needs tens of milliseconds to find an address.
  other: (n) => serviceOf(nameOf(n), { clusterIP: `10.96.${1 + (n >> 8)}.${n & 255}` }),
  slice: (name, endpoints) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace: NAMESPACE,
      name: `${name}-c1`,
      labels: { "kubernetes.io/service-name": name },
    },
    addressType: "IPv4",
    ports: [TARGET],
    endpoints: endpoints.map(written),
  }),
};

function importOf(name: string, vip: string): object {
  return importObject(`${NAMESPACE}/${name}`, [vip], [HTTP]);
}

function serviceOf(name: string, spec: object): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: NAMESPACE, name },
    spec: { ports: [{ ...HTTP, targetPort: TARGET.port }], ...spec },
  };
}

function written({ address, ready }: Endpoint): object {
  return { addresses: [address], conditions: { ready }, nodeName: "n9" };
}
