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

describe("an export", () => {
  test("without its Service waits for it", () => {
    assert.deepEqual(exportOf({ export: EXPORT, slices: [], cluster: "c1" }), {
      valid: "NoService",
    });
  });

  test("of an ExternalName is not possible", () => {
    const service = { key: "demo/serve" } as const;
    const result = exportOf({ export: EXPORT, service, slices: [], cluster: "c1" });
    assert.deepEqual(result, { valid: "InvalidServiceType" });
  });

  test("is as old as the ServiceExport, and carries what that one names", () => {
    assert.deepEqual(exported([]).record, {
      ...SERVICE,
      cluster: "c1",
      key: "demo/serve",
      exported: 1000,
      metadata: { labels: { a: "b" }, annotations: {} },
    });
  });

  test("publishes endpoints that are not ready, too", () => {
    const { endpoints } = exported([slice("a", [endpoint("10.1.0.1", false)])]);
    assert.deepEqual(endpoints, [
      { family: "IPv4", ports: [HTTP], endpoints: [endpoint("10.1.0.1", false)] },
    ]);
  });

  test("publishes an endpoint that two slices list once, and the better of the two", () => {
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

  test("publishes of two that are alike the one that stays", () => {
    const going = endpoint("10.1.0.1", false, { serving: true, terminating: true });
    const staying = endpoint("10.1.0.1", false, { serving: true });
    const { endpoints } = exported([
      slice("a", [going]),
      slice("b", [staying]),
      slice("c", [going]),
    ]);
    assert.deepEqual(endpoints[0]?.endpoints, [staying]);
  });

  test("keeps endpoints apart that listen on other ports", () => {
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

  test("takes the same ports in another order for the same", () => {
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

  test("of a headless Service publishes endpoints without ports: DNS needs none", () => {
    const { endpoints } = exported([slice("a", [endpoint("10.1.0.1")], { ports: [] })], {
      headless: true,
      ports: [],
    });
    assert.deepEqual(endpoints, [{ family: "IPv4", ports: [], endpoints: [endpoint("10.1.0.1")] }]);
  });

  test("of two families has slices of each, and of one no slice of the other", () => {
    const slices = [
      slice("a", [endpoint("10.1.0.1")]),
      slice("b", [endpoint("fd00::1")], { family: "IPv6" }),
    ];
    const families = (service: Partial<ServiceProperties>) =>
      exported(slices, service).endpoints.map(({ family }) => family);
    assert.deepEqual(families({ families: ["IPv6", "IPv4"] }), ["IPv4", "IPv6"]);
    assert.deepEqual(families({ families: ["IPv6"] }), ["IPv6"]);
  });

  test("of more endpoints than a reader takes leaves the rest out, and says so", () => {
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

  test("of more endpoints in two sets of ports counts both", () => {
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

  test("of more sets of ports than a reader takes leaves the rest out, and says so", () => {
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
