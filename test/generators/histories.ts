import fc from "fast-check";
import { Endpoints } from "../../agent/model/endpoints.ts";
import type {
  EndpointCondition,
  EndpointFact,
  ImportFact,
  SliceFact,
} from "../../agent/model/facts.ts";
import type { Model } from "../../agent/model/model.ts";
import { objectKey } from "../../api/names.ts";
import { address } from "./facts.ts";
import { anyProperties, anySelectors } from "./selectors.ts";

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
    clusterWeights: fc.option(
      fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 7 })).map(
        ([c1, c2]) =>
          new Map([
            ["c1", c1 * 7 + 1],
            ["c2", c2 * c1 * 7],
          ]),
      ),
      { nil: undefined, freq: 2 },
    ),
    onlySelected: fc.constantFrom(undefined, undefined, undefined, true as const),
    minReady: fc.constantFrom(undefined, undefined, { endpoints: 2 }, { percent: 60 }),
  })
  .map(({ affinitySeconds, trafficDistribution, selectors, ...more }) => ({
    ...withoutUnset(more),
    ...(selectors !== undefined && { selectors }),
    ...(affinitySeconds !== undefined && { affinitySeconds }),
    ...(trafficDistribution !== undefined && {
      trafficDistribution: trafficDistribution as "PreferSameZone",
    }),
  }));

/** Optional fields are absent, not undefined, as parsers leave them. */
function withoutUnset<
  Fields extends Pick<ImportFact, "key" | "created" | "headless" | "vips" | "ports" | "nodeLocal">,
>({ key, created, headless, vips, ports, nodeLocal, ...optional }: Fields): ImportFact {
  const set = Object.entries(optional).filter(([, value]) => value !== undefined);
  return { key, created, headless, vips, ports, nodeLocal, ...Object.fromEntries(set) };
}

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

/** Lets one event happen to a model. */
export function applyEvent(model: Model, event: Event, at = 0): void {
  if (event.kind === "import") model.setImport(event.fact, at);
  else if (event.kind === "import-gone") model.removeImport(event.key, at);
  else if (event.kind === "slice") model.setSlice(event.fact, at);
  else model.removeSlice(event.key, at);
}
