import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EndpointFact, ExportFact, ServiceProperties, SliceFact } from "../model/facts.ts";
import { type Exported, exportOf } from "./export-of.ts";

const EXPORT: ExportFact = {
  key: "demo/serve",
  uid: "u1",
  generation: 1,
  created: 1000,
  metadata: { labels: { a: "b" }, annotations: {} },
  conditions: [],
};
const SERVICE: ServiceProperties = {
  headless: false,
  ports: [
    { name: "http", protocol: "TCP", port: 80 },
    { name: "dns", protocol: "UDP", port: 53 },
  ],
  families: ["IPv4"],
  sessionAffinity: "None",
};
const HTTP = { name: "http", protocol: "TCP", port: 8080 } as const;
const GROUP = { family: "IPv4", ports: [HTTP] } as const;
const DNS = { name: "dns", protocol: "UDP", port: 5353 } as const;

function endpoint(address: string, ready = true, more: Partial<EndpointFact> = {}): EndpointFact {
  return { address, ready, serving: ready, terminating: false, ...more };
}

function slice(
  name: string,
  endpoints: readonly EndpointFact[],
  more: Partial<SliceFact> = {},
): SliceFact {
  return { key: `demo/${name}`, service: "demo/serve", ...GROUP, endpoints, ...more };
}

function exported(
  slices: readonly SliceFact[],
  service: Partial<ServiceProperties> = {},
): Exported {
  const result = exportOf({
    export: EXPORT,
    service: { key: "demo/serve", properties: { ...SERVICE, ...service } },
    slices,
    cluster: "c1",
  });
  assert.ok(result.valid === "Valid");
  return result;
}

describe("a ServiceExport", () => {
  test("without its Service, or of one of type ExternalName, is not published", () => {
    const of = (given: object) => exportOf({ export: EXPORT, slices: [], cluster: "c1", ...given });
    assert.deepEqual(of({}), { valid: "NoService" });
    assert.deepEqual(of({ service: { key: "demo/serve" } }), { valid: "InvalidServiceType" });
  });

  test("has the creation time of the ServiceExport, and its exported labels and annotations", () => {
    assert.deepEqual(exported([]).record, {
      ...SERVICE,
      cluster: "c1",
      key: "demo/serve",
      exported: 1000,
      metadata: { labels: { a: "b" }, annotations: {} },
    });
  });

  /** Slices, more about the Service, and what is published. */
  const [going, staying] = [true, false].map((terminating) =>
    endpoint("10.1.0.1", false, { serving: true, terminating }),
  ) as [EndpointFact, EndpointFact];
  const down = endpoint("10.1.0.1", false);
  const [one, two, six] = [endpoint("10.1.0.1"), endpoint("10.1.0.2"), endpoint("fd00::1")];
  const zoned = (zone: string) => endpoint("10.1.0.1", true, { zone });
  const other = { ...HTTP, port: 8081 };
  const published = (endpoints: readonly EndpointFact[], ports: SliceFact["ports"] = [HTTP]) =>
    ({ family: "IPv4", ports, endpoints }) as const;
  const CASES: Readonly<
    Record<string, readonly [SliceFact[], object[], Partial<ServiceProperties>?]>
  > = {
    "publishes endpoints that are not ready": [[slice("a", [down])], [published([down])]],
    "publishes an endpoint of two slices once, in its better state": [
      [
        slice("c", [zoned("late")]),
        slice("a", [down, two]),
        slice("b", [zoned("b"), endpoint("10.1.0.1", true, { terminating: true })]),
      ],
      [published([zoned("b"), two])],
    ],
    "prefers the endpoint that does not terminate": [
      [slice("a", [going]), slice("b", [staying]), slice("c", [going])],
      [published([staying])],
    ],
    "puts endpoints with different ports into different groups": [
      [slice("a", [one]), slice("b", [one], { ports: [other] })],
      [published([one]), published([one], [other])],
    ],
    "ignores the order of ports": [
      [slice("a", [one], { ports: [HTTP, DNS] }), slice("b", [two], { ports: [DNS, HTTP] })],
      [published([one, two], [DNS, HTTP])],
    ],
    "publishes no port that the Service does not have": [
      [
        slice("a", [one], { ports: [HTTP, { ...HTTP, name: "debug" }] }),
        slice("b", [two], { ports: [{ ...HTTP, protocol: "UDP" }] }),
      ],
      [published([one])],
    ],
    "publishes endpoints of the Service's families only": [
      [slice("a", [one]), slice("b", [six], { family: "IPv6" })],
      [{ ...published([six]), family: "IPv6" }],
      { families: ["IPv6"] },
    ],
    "of a headless Service publishes endpoints without ports": [
      [slice("a", [one], { ports: [] })],
      [published([one], [])],
      { headless: true, ports: [] },
    ],
  };
  for (const [name, [slices, endpoints, service]] of Object.entries(CASES)) {
    test(name, () => assert.deepEqual(exported(slices, service).endpoints, endpoints));
  }

  test("publishes no slice that another product filled with endpoints of another cluster", () => {
    const { endpoints, problems } = exported([
      slice("a", [endpoint("10.1.0.1")]),
      slice("b", [endpoint("10.1.0.2")], { source: "c1" }),
      slice("c", [endpoint("10.2.0.1")], { source: "c2" }),
      slice("d", [endpoint("10.3.0.1")], { source: "c3" }),
    ]);
    const addresses = endpoints.flatMap((group) => group.endpoints.map(({ address }) => address));
    assert.deepEqual(addresses, ["10.1.0.1", "10.1.0.2"]);
    assert.deepEqual(problems, [
      {
        reason: "foreign-cluster",
        object: "ServiceExport demo/serve",
        field: "slices",
        value: '["c2","c3"]',
      },
    ]);
  });

  test("publishes endpoints of all groups up to the limit, and reports the overflow", () => {
    const many = (i: number) =>
      Array.from({ length: 900 }, (_, n) => endpoint(`10.${i}.${n >> 8}.${n & 255}`));
    const all = Array.from({ length: 12 }, (_, i) =>
      slice(`s${10 + i}`, many(i), { ports: [i < 10 ? HTTP : other] }),
    );
    const { endpoints, problems } = exported(all);
    const counts = endpoints.map((group) => group.endpoints.length);
    assert.deepEqual(counts, [9000, 1000]);
    assert.deepEqual(problems, [
      {
        reason: "too-many-endpoints",
        object: "ServiceExport demo/serve",
        field: "slices",
        value: "10800",
      },
    ]);
  });

  test("publishes groups of ports up to the limit and reports the overflow", () => {
    const all = Array.from({ length: 70 }, (_, i) =>
      slice(`s${10 + i}`, [endpoint("10.1.0.1")], { ports: [{ ...HTTP, port: 8000 + i }] }),
    );
    const { endpoints, problems } = exported(all);
    assert.equal(endpoints.length, 64);
    const told = problems.map(({ reason, value }) => `${reason} ${value}`);
    assert.deepEqual(told, ["too-many-slices 70"]);
  });
});
