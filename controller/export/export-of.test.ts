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
const DNS = { name: "dns", protocol: "UDP", port: 5353 } as const;

function endpoint(address: string, ready = true, more: Partial<EndpointFact> = {}): EndpointFact {
  return { address, ready, serving: ready, terminating: false, ...more };
}

function slice(
  name: string,
  endpoints: readonly EndpointFact[],
  more: Partial<SliceFact> = {},
): SliceFact {
  return {
    key: `demo/${name}`,
    service: "demo/serve",
    family: "IPv4",
    ports: [HTTP],
    endpoints,
    ...more,
  };
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
  test("without its Service is not published", () => {
    assert.deepEqual(exportOf({ export: EXPORT, slices: [], cluster: "c1" }), {
      valid: "NoService",
    });
  });

  test("of a Service of type ExternalName is not published", () => {
    const service = { key: "demo/serve" } as const;
    const result = exportOf({ export: EXPORT, service, slices: [], cluster: "c1" });
    assert.deepEqual(result, { valid: "InvalidServiceType" });
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

  test("publishes endpoints that are not ready", () => {
    const { endpoints } = exported([slice("a", [endpoint("10.1.0.1", false)])]);
    assert.deepEqual(endpoints, [
      { family: "IPv4", ports: [HTTP], endpoints: [endpoint("10.1.0.1", false)] },
    ]);
  });

  test("publishes no slice that another product filled with endpoints of another cluster", () => {
    const { endpoints, problems } = exported([
      slice("a", [endpoint("10.1.0.1")]),
      slice("b", [endpoint("10.1.0.2")], { source: "c1" }),
      slice("c", [endpoint("10.2.0.1")], { source: "c2" }),
      slice("d", [endpoint("10.3.0.1")], { source: "c3" }),
    ]);
    assert.deepEqual(
      endpoints.flatMap((group) => group.endpoints.map(({ address }) => address)),
      ["10.1.0.1", "10.1.0.2"],
    );
    assert.deepEqual(problems, [
      {
        reason: "foreign-cluster",
        object: "ServiceExport demo/serve",
        field: "slices",
        value: '["c2","c3"]',
      },
    ]);
  });

  test("publishes an endpoint of two slices once, in its better state", () => {
    const going = endpoint("10.1.0.1", true, { terminating: true });
    const { endpoints } = exported([
      slice("c", [endpoint("10.1.0.1", true, { zone: "late" })]),
      slice("a", [endpoint("10.1.0.1", false), endpoint("10.1.0.2")]),
      slice("b", [endpoint("10.1.0.1", true, { zone: "b" }), going]),
    ]);
    assert.deepEqual(endpoints[0]?.endpoints, [
      endpoint("10.1.0.1", true, { zone: "b" }),
      endpoint("10.1.0.2"),
    ]);
  });

  test("prefers the endpoint that does not terminate", () => {
    const going = endpoint("10.1.0.1", false, { serving: true, terminating: true });
    const staying = endpoint("10.1.0.1", false, { serving: true });
    const { endpoints } = exported([
      slice("a", [going]),
      slice("b", [staying]),
      slice("c", [going]),
    ]);
    assert.deepEqual(endpoints[0]?.endpoints, [staying]);
  });

  test("puts endpoints with different ports into different groups", () => {
    const other = { ...HTTP, port: 8081 };
    const { endpoints } = exported([
      slice("a", [endpoint("10.1.0.1")]),
      slice("b", [endpoint("10.1.0.1")], { ports: [other] }),
    ]);
    assert.deepEqual(
      endpoints.map(({ ports }) => ports),
      [[HTTP], [other]],
    );
  });

  test("ignores the order of ports", () => {
    const { endpoints } = exported([
      slice("a", [endpoint("10.1.0.1")], { ports: [HTTP, DNS] }),
      slice("b", [endpoint("10.1.0.2")], { ports: [DNS, HTTP] }),
    ]);
    assert.deepEqual(endpoints, [
      {
        family: "IPv4",
        ports: [DNS, HTTP],
        endpoints: [endpoint("10.1.0.1"), endpoint("10.1.0.2")],
      },
    ]);
  });

  test("publishes no port that the Service does not have", () => {
    const udp = { ...HTTP, protocol: "UDP" } as const;
    const { endpoints } = exported([
      slice("a", [endpoint("10.1.0.1")], { ports: [HTTP, { ...HTTP, name: "debug" }] }),
      slice("b", [endpoint("10.1.0.2")], { ports: [udp] }),
    ]);
    assert.deepEqual(endpoints, [
      { family: "IPv4", ports: [HTTP], endpoints: [endpoint("10.1.0.1")] },
    ]);
  });

  test("of a headless Service publishes endpoints without ports", () => {
    const { endpoints } = exported([slice("a", [endpoint("10.1.0.1")], { ports: [] })], {
      headless: true,
      ports: [],
    });
    assert.deepEqual(endpoints, [{ family: "IPv4", ports: [], endpoints: [endpoint("10.1.0.1")] }]);
  });

  test("publishes endpoints of the Service's families only", () => {
    const slices = [
      slice("a", [endpoint("10.1.0.1")]),
      slice("b", [endpoint("fd00::1")], { family: "IPv6" }),
    ];
    const families = (service: Partial<ServiceProperties>) =>
      exported(slices, service).endpoints.map(({ family }) => family);
    assert.deepEqual(families({ families: ["IPv6", "IPv4"] }), ["IPv4", "IPv6"]);
    assert.deepEqual(families({ families: ["IPv6"] }), ["IPv6"]);
  });

  test("publishes endpoints up to the limit and reports the overflow", () => {
    const all = Array.from({ length: 12 }, (_, i) =>
      slice(
        `s${10 + i}`,
        Array.from({ length: 900 }, (__, n) => endpoint(`10.${i}.${n >> 8}.${n & 255}`)),
      ),
    );
    const { endpoints, problems } = exported(all);
    assert.equal(endpoints[0]?.endpoints.length, 10_000);
    assert.deepEqual(problems, [
      {
        reason: "too-many-endpoints",
        object: "ServiceExport demo/serve",
        field: "slices",
        value: "10800",
      },
    ]);
  });

  test("counts the endpoints of all groups", () => {
    const many = (i: number) =>
      Array.from({ length: 900 }, (_, n) => endpoint(`10.${i}.${n >> 8}.${n & 255}`));
    const all = Array.from({ length: 12 }, (_, i) =>
      slice(`s${10 + i}`, many(i), { ports: [i < 10 ? HTTP : { ...HTTP, port: 8081 }] }),
    );
    assert.deepEqual(
      exported(all).endpoints.map(({ endpoints }) => endpoints.length),
      [9000, 1000],
    );
  });

  test("publishes groups of ports up to the limit and reports the overflow", () => {
    const all = Array.from({ length: 70 }, (_, i) =>
      slice(`s${10 + i}`, [endpoint("10.1.0.1")], { ports: [{ ...HTTP, port: 8000 + i }] }),
    );
    const { endpoints, problems } = exported(all);
    assert.equal(endpoints.length, 64);
    assert.deepEqual(
      problems.map(({ reason, value }) => `${reason} ${value}`),
      ["too-many-slices 70"],
    );
  });
});
