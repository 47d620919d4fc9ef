import type { BackendConfig } from "../../agent/backends/backend-kind.ts";
import { Endpoints } from "../../agent/model/endpoints.ts";
import type { EndpointFact, ImportFact, NodeFact, SliceFact } from "../../agent/model/facts.ts";
import { type Address, type Family, isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";

/** Shorthand for literals in tests: throws on what is none. */
export function address(text: string): Address {
  const parsed = parseAddress(text);
  if (!isAddress(parsed)) throw new Error(`${text}: ${parsed}`);
  return parsed;
}

/** The same for ranges. */
export function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!isCidr(parsed)) throw new Error(`${text}: ${parsed}`);
  return parsed;
}

/** The flags that backends read, with these ClusterSet CIDRs. */
export function backendConfig(...clusterSetCidrs: readonly string[]): BackendConfig {
  return {
    clusterSetCidrs: clusterSetCidrs.map(cidr),
    explicitVipCidrs: [],
    podCidrs: [],
    masquerade: "none",
    iptablesFlavour: "auto",
    ipvsScheduler: "rr",
    ipvsTcpTimeout: undefined,
    kubeProxyExcludeCidrs: [],
  };
}

/** A node of cluster c1 in eu-west. */
export function nodeFact(change: Partial<NodeFact> = {}): NodeFact {
  return {
    name: "n1",
    cluster: "c1",
    region: "eu-west",
    zone: "eu-west-a",
    clusterRegions: new Map(),
    endpointRanges: new Map(),
    properties: new Map(),
    health: "endpoints",
    clusterSetCidrs: [cidr("241.0.0.0/8"), cidr("fd00:241::/108")],
    explicitVipCidrs: [cidr("1.2.3.0/24"), cidr("198.51.100.0/24"), cidr("2001:db8::/32")],
    podCidrs: [cidr("10.1.0.0/16"), cidr("fd10:1::/32")],
    nodePodCidrs: [],
    serviceCidrs: [cidr("10.96.0.0/12")],
    subnets: [cidr("192.0.2.0/24")],
    network: { ranges: [], addresses: new Set() },
    reservedAddresses: new Set(["192.0.2.1"]),
    ...change,
  };
}

/** An import demo/serve with one VIP and one port, with changes; VIPs as text. */
export function importFact(
  change: Partial<Omit<ImportFact, "vips">> & { readonly vips?: readonly string[] } = {},
): ImportFact {
  const { vips = ["241.0.0.10"], ...rest } = change;
  return {
    key: "demo/serve",
    created: Number.POSITIVE_INFINITY,
    headless: false,
    ports: [{ name: "http", protocol: "TCP", port: 80 }],
    nodeLocal: false,
    ...rest,
    vips: vips.map(address),
  };
}

/** Endpoints, packed; one that is a text is ready. */
export function endpointsOf(family: Family, endpoints: Iterable<string | EndpointFact>): Endpoints {
  return Endpoints.of(
    family,
    [...endpoints].map((e) => (typeof e === "string" ? { address: e, condition: "ready" } : e)),
  );
}

/** A slice of demo/serve from nowhere, with one ready endpoint, with changes; an endpoint that is a text is ready. */
export function sliceFact(
  change: Partial<Omit<SliceFact, "endpoints">> & {
    readonly endpoints?: Iterable<string | EndpointFact>;
  } = {},
): SliceFact {
  const { endpoints = ["10.2.0.1"], family = "IPv4", ...rest } = change;
  return {
    key: "demo/serve-x",
    importKey: "demo/serve",
    active: true,
    family,
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    ...rest,
    endpoints: endpointsOf(family, endpoints),
  };
}
