import fc from "fast-check";
import { Endpoints } from "../../agent/model/endpoints.ts";
import type {
  EndpointCondition,
  EndpointFact,
  ImportFact,
  NodeFact,
  SliceFact,
} from "../../agent/model/facts.ts";
import { type Address, type Family, isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { objectKey } from "../../api/names.ts";
import { anyProperties, anySelectors } from "./selectors.ts";

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

/** A node of cluster c1 in eu-west. */
export function nodeFact(change: Partial<NodeFact> = {}): NodeFact {
  return {
    name: "n1",
    cluster: "c1",
    region: "eu-west",
    zone: "eu-west-a",
    clusterRegions: new Map(),
    properties: new Map(),
    clusterSetCidrs: [cidr("241.0.0.0/8"), cidr("fd00:241::/108")],
    explicitVipCidrs: [],
    podCidrs: [cidr("10.1.0.0/16"), cidr("fd10:1::/32")],
    nodePodCidrs: [],
    serviceCidrs: [cidr("10.96.0.0/12")],
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

/** One thing that happens to the world: an object is there from now on, or is gone. */
export type Event =
  | { readonly kind: "import"; readonly fact: ImportFact }
  | { readonly kind: "import-gone"; readonly key: ImportFact["key"] }
  | { readonly kind: "slice"; readonly fact: SliceFact }
  | { readonly kind: "slice-gone"; readonly key: SliceFact["key"] };

const IMPORTS = ["demo/serve", "demo/other", "shop/web", "shop/db"] as const;
const SLICES = ["a", "b", "c", "d", "e", "f"] as const;

const vip = fc.oneof(
  fc.integer({ min: 1, max: 40 }).map((n) => address(`241.0.0.${n}`)),
  // So far apart that they share no more digits than the ClusterSet CIDR has.
  fc.integer({ min: 1, max: 12 }).map((n) => address(`241.${n * 20}.0.1`)),
  fc.integer({ min: 1, max: 30 }).map((n) => address(`198.51.100.${n}`)),
  fc.integer({ min: 1, max: 20 }).map((n) => address(`fd00:241::${n.toString(16)}`)),
  fc.integer({ min: 1, max: 15 }).map((n) => address(`fd00:241::${n.toString(16)}:1`)),
  fc.integer({ min: 1, max: 24 }).map((n) => address(`2001:db8::${n.toString(16)}`)),
  fc.constant(address("192.0.2.1")),
);

const ports = fc.uniqueArray(
  fc.constantFrom(
    { name: "http", protocol: "TCP", port: 80 } as const,
    { name: "dns", protocol: "UDP", port: 53 } as const,
    { name: "sctp", protocol: "SCTP", port: 36412 } as const,
    { name: "", protocol: "TCP", port: 8080 } as const,
  ),
  { maxLength: 3 },
);

const anyImport: fc.Arbitrary<ImportFact> = fc
  .record({
    key: fc.constantFrom(...IMPORTS),
    created: fc.constantFrom(1, 2, 3, Number.POSITIVE_INFINITY),
    headless: fc.constantFrom(false, false, false, true),
    vips: fc.oneof(
      fc.uniqueArray(vip, { maxLength: 4, selector: (v) => v.text }),
      // Around sixteen of a kind, a backend that counts them changes its shape.
      fc.uniqueArray(vip, { minLength: 15, maxLength: 40, selector: (v) => v.text }),
    ),
    ports,
    nodeLocal: fc.constantFrom(false, false, false, true),
    affinitySeconds: fc.constantFrom(undefined, undefined, 10800, 30),
    trafficDistribution: fc.constantFrom(undefined, undefined, "PreferSameZone", "PreferSameNode"),
    selectors: fc.option(anySelectors, { nil: undefined, freq: 2 }),
  })
  .map(({ affinitySeconds, trafficDistribution, selectors, ...rest }) => ({
    ...rest,
    ...(selectors !== undefined && { selectors }),
    ...(affinitySeconds !== undefined && { affinitySeconds }),
    ...(trafficDistribution !== undefined && {
      trafficDistribution: trafficDistribution as "PreferSameZone",
    }),
  }));

const condition = fc.constantFrom<EndpointCondition>(
  "ready",
  "ready",
  "ready",
  "serving",
  "terminating",
  "not-ready",
);

function endpoint(family: "IPv4" | "IPv6"): fc.Arbitrary<EndpointFact> {
  return fc
    .record({
      host: fc.integer({ min: 1, max: 12 }),
      cluster: fc.integer({ min: 1, max: 4 }),
      condition,
      nodeName: fc.constantFrom(undefined, "n1", "n2"),
      zone: fc.constantFrom(undefined, "eu-west-a", "eu-west-b"),
    })
    .map(({ host, cluster, condition, nodeName, zone }) => ({
      address: family === "IPv4" ? `10.${cluster}.0.${host}` : `fd10:${cluster}::${host}`,
      condition,
      ...(nodeName !== undefined && { nodeName }),
      ...(zone !== undefined && { zone }),
    }));
}

const anySlice: fc.Arbitrary<SliceFact> = fc
  .constantFrom("IPv4", "IPv4", "IPv6")
  .chain((family) =>
    fc.record({
      key: fc.constantFrom(...SLICES).map((name) => objectKey("demo", name)),
      importKey: fc.constantFrom(...IMPORTS),
      cluster: fc.constantFrom(undefined, "c1", "c2", "c3"),
      region: fc.constantFrom(undefined, "eu-west", "us-east"),
      properties: fc.option(anyProperties, { nil: undefined }),
      active: fc.constantFrom(true, true, true, false),
      family: fc.constant(family as "IPv4" | "IPv6"),
      ports: ports.map((list) => list.map((port) => ({ ...port, port: port.port + 8000 }))),
      endpoints: fc.array(endpoint(family as "IPv4" | "IPv6"), { maxLength: 5 }),
    }),
  )
  .map(({ cluster, region, properties, endpoints, ...rest }) => ({
    ...rest,
    endpoints: Endpoints.of(rest.family, endpoints),
    ...(cluster !== undefined && { cluster }),
    ...(region !== undefined && { region }),
    ...(properties !== undefined && { properties }),
  }));

/** Whatever can happen next. */
export const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: anyImport.map((fact): Event => ({ kind: "import", fact })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...IMPORTS).map((key): Event => ({ kind: "import-gone", key })),
  },
  { weight: 6, arbitrary: anySlice.map((fact): Event => ({ kind: "slice", fact })) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(...SLICES)
      .map((name): Event => ({ kind: "slice-gone", key: objectKey("demo", name) })),
  },
);

/** A history: what happens between one look at the kernel and the next. */
export const anyHistory: fc.Arbitrary<Event[][]> = fc.array(
  fc.array(anyEvent, { minLength: 1, maxLength: 6 }),
  { maxLength: 12 },
);
