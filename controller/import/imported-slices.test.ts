import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseSlice } from "../../agent/model/parse-slice.ts";
import { FAMILIES } from "../../api/address.ts";
import { objectKey } from "../../api/names.ts";
import {
  ANY_RECORDS,
  exportRecord,
  KEY,
  servicePort,
  servicePorts,
} from "../../test/generators/export-records.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { merge } from "../merge/merge.ts";
import type { EndpointFact, ExportRecord, ServicePort, SliceFact } from "../model/facts.ts";
import { type Contribution, importedSliceName, importedSlices } from "./imported-slices.ts";

const READY: EndpointFact = { address: "10.0.0.1", ready: true, serving: true, terminating: false };

function slice(over: Partial<SliceFact> = {}): SliceFact {
  return {
    key: objectKey("clusterset-registry-c1", "serve.demo.x"),
    service: KEY,
    family: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    endpoints: [READY],
    ...over,
  };
}

function contribution(over: Partial<Contribution> = {}): Contribution {
  return { record: exportRecord(), slices: [slice()], state: "alive", ...over };
}

/** The imported slices of all contributions. */
function imported(contributions: readonly Contribution[], families?: SliceFact["family"][]) {
  const merged = merge(contributions.map(({ record }) => record));
  assert.ok(merged !== undefined);
  return importedSlices({ ...merged, families: families ?? merged.families }, contributions);
}

/** Ports of all slices: `cluster: name target`. */
function targets(contributions: readonly Contribution[]): string[] {
  return imported(contributions).slices.flatMap((object) => {
    const { fact } = parseSlice(object);
    return (fact?.ports ?? []).map(({ name, port }) => `${fact?.cluster}: ${name} ${port}`);
  });
}

test("an imported slice has all fields that agents need, and no field that other components act on", () => {
  const endpoint = { ...READY, hostname: "web-0", nodeName: "n1", zone: "z1" };
  const { slices, omitted } = imported([
    contribution({
      slices: [slice({ endpoints: [endpoint] })],
      cluster: { region: "eu", properties: { b: "2", a: "1" } },
    }),
  ]);
  assert.deepEqual(omitted, []);
  assert.deepEqual(slices, [
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        name: importedSliceName(KEY, "c1", slice().key),
        namespace: "demo",
        labels: {
          "multicluster.kubernetes.io/service-name": "serve",
          "multicluster.kubernetes.io/source-cluster": "c1",
          "topology.kubernetes.io/region": "eu",
          "endpointslice.kubernetes.io/managed-by": "clusterset-controller",
          "service.kubernetes.io/service-proxy-name": "clusterset-proxy",
        },
        annotations: { "clusterset-proxy.io/cluster-properties": '{"a":"1","b":"2"}' },
      },
      addressType: "IPv4",
      ports: [{ name: "http", protocol: "TCP", port: 8080 }],
      endpoints: [
        {
          addresses: ["10.0.0.1"],
          conditions: { ready: true, serving: true, terminating: false },
          hostname: "web-0",
          nodeName: "n1",
          zone: "z1",
        },
      ],
    },
  ]);
});

test("an agent accepts an imported slice without problems", () => {
  const { slices } = imported([
    contribution({
      record: exportRecord({ cluster: `${"c".repeat(31)}.${"d".repeat(31)}` }),
      cluster: { region: "eu", properties: { "region.topology.k8s.io": "eu" } },
    }),
  ]);
  for (const object of slices) {
    const { problems, fact } = parseSlice(object);
    assert.deepEqual(problems, []);
    assert.equal(fact?.importKey, KEY);
    assert.equal(fact?.region, "eu");
  }
  assert.equal(slices.length, 1);
});

test("C20: the same name with another number gets none of the port's traffic", () => {
  const contributions = [
    contribution({ record: exportRecord({ ports: [servicePort("http 42")] }) }),
    contribution({
      record: exportRecord({ cluster: "c2", exported: 2000, ports: [servicePort("http 4242")] }),
    }),
  ];
  assert.deepEqual(targets(contributions), ["c1: http 8080"]);
  assert.deepEqual(imported(contributions).omitted, [
    { cluster: "c2", slice: slice().key, reason: "port-not-merged", has: "http/TCP" },
  ]);
});

test("C21: each port has the endpoints of its own cluster, also in one slice with others", () => {
  const of = (cluster: string, ports: readonly string[], slicePorts: readonly string[]) =>
    contribution({
      record: exportRecord({ cluster, ports: ports.map(servicePort) }),
      slices: [slice({ ports: slicePorts.map(servicePort) })],
    });
  assert.deepEqual(
    targets([of("c1", ["a 42"], ["a 8042"]), of("c2", ["b 43", "a 44"], ["b 8043", "a 8044"])]),
    ["c1: a 8042", "c2: b 8043"],
  );
});

test("ports are matched by protocol", () => {
  const udp = servicePort("http 80/UDP");
  assert.deepEqual(targets([contribution({ slices: [slice({ ports: [udp] })] })]), []);
});

/** Ports of the oldest export and of c2, and c2's imported ports: the import's name, and c2's target port. */
const RENAMED: Readonly<Record<string, readonly [string, string, string?]>> = {
  "another name with the same number": ["web 80", "http 80", "web 8080"],
  "another name and number: a port of its own": ["web 80", "http 81", "http 8081"],
  "another protocol: a port of its own": ["web 80", "http 80/UDP", "http 8080/UDP"],
  "a name where the oldest has none": ["80", "http 80", "8080"],
  "no name where the oldest has one, beside a new port": ["http 80, new 8443", "80", "http 8080"],
  "one of several ports renamed": ["web 80, admin 81", "http 80, admin 81", "web 8080, admin 8081"],
  "the same number of two protocols, each with another name": [
    "dns 53/UDP, dns-tcp 53",
    "dns-udp 53/UDP, dns 53",
    "dns 8053/UDP, dns-tcp 8053",
  ],
  "crossed names: no port was renamed": ["http 80, admin 81", "http 81, admin 80"],
  "three names in a circle": ["a 80, b 81, c 82", "a 81, b 82, c 80"],
  "the old number under a new name, beside the new number": [
    "http 80",
    "http 8443, old 80",
    "http 8080",
  ],
  "the old number kept under a new name by the oldest": [
    "http 8443, old 80",
    "http 80",
    "old 8080",
  ],
};

for (const [name, [oldest, younger, expected]] of Object.entries(RENAMED)) {
  for (const headless of [false, true]) {
    for (const family of FAMILIES) {
      test(`${headless ? "headless" : "VIP"}, ${family}: ${name}`, () => {
        const ports = servicePorts(younger);
        // Target ports differ from the Service's, and are the same for two protocols.
        const inSlice = ports.map((port) => ({ ...port, port: 8000 + (port.port % 8000) }));
        const address = family === "IPv4" ? "10.0.0.1" : "fd00::1";
        const c2 = contribution({
          record: exportRecord({
            ...{ cluster: "c2", exported: 2000, ports, headless, families: [family] },
          }),
          slices: [slice({ family, ports: inSlice, endpoints: [{ ...READY, address }] })],
        });
        const c1 = exportRecord({ ports: servicePorts(oldest), headless, families: [family] });
        const { slices, omitted } = imported([contribution({ record: c1, slices: [] }), c2]);
        const found = slices.flatMap((object) => parseSlice(object).fact?.ports ?? []);
        assert.deepEqual(found, expected === undefined ? [] : servicePorts(expected));
        assert.equal(omitted.length, expected === undefined ? 1 : 0);
      });
    }
  }
}

test("a younger export of another type contributes its endpoints", () => {
  const younger = { cluster: "c2", exported: 2000 };
  for (const headless of [true, false]) {
    const found = targets([
      contribution({ record: exportRecord({ headless }) }),
      contribution({ record: exportRecord({ ...younger, headless: !headless }) }),
    ]);
    assert.deepEqual(found, ["c1: http 8080", "c2: http 8080"]);
  }
});

test("slices without ports are imported for headless Services only", () => {
  const bare = contribution({
    record: exportRecord({ headless: true, ports: [] }),
    slices: [slice({ ports: [] })],
  });
  assert.equal(imported([bare]).slices.length, 1);
  const oldest = contribution({ record: exportRecord({ cluster: "c0", exported: 1 }) });
  const reasons = imported([oldest, bare]).omitted.map(({ reason }) => reason);
  assert.deepEqual(reasons, ["port-not-merged"]);
});

test("slices of a family that the import is not of are left out", () => {
  const both = contribution({
    slices: [slice(), slice({ key: objectKey("r", "six"), family: "IPv6" })],
  });
  assert.deepEqual(imported([both], ["IPv4"]).omitted, [
    { cluster: "c1", slice: "r/six", reason: "family-not-merged", has: "IPv6" },
  ]);
  assert.equal(imported([both], ["IPv6", "IPv4"]).slices.length, 2);
});

test("an empty slice is imported with or without ports", () => {
  for (const ports of [[], [servicePort("http 8080")]]) {
    const none = contribution({ slices: [slice({ ports, endpoints: [] })] });
    const { slices, omitted } = imported([none]);
    assert.deepEqual(omitted, []);
    assert.equal(slices.length, 1);
    const { fact, problems } = parseSlice(slices[0]);
    assert.deepEqual(problems, []);
    assert.equal(fact?.importKey, KEY);
    assert.deepEqual([...fact.endpoints], []);
  }
});

test("an empty slice that is left out is no problem", () => {
  const port = slice({ ports: [servicePort("other 9")], endpoints: [] });
  const family = slice({ family: "IPv6", ports: [], endpoints: [] });
  const { slices, omitted } = imported([contribution({ slices: [port, family] })], ["IPv4"]);
  assert.deepEqual({ slices, omitted }, { slices: [], omitted: [] });
});

test("ready endpoints of a stale cluster become serving, and recover", async () => {
  const conditions = fc.record({
    ready: fc.boolean(),
    serving: fc.boolean(),
    terminating: fc.boolean(),
  });
  await forAll([fc.array(conditions)], (all) => {
    const endpoints = all.map((one) => ({ ...READY, ...one }));
    const of = (state: Contribution["state"]) =>
      imported([contribution({ state, slices: [slice({ endpoints })] })]).slices.map(
        (object) => object.endpoints,
      );
    const told = (one: object) => ({ addresses: ["10.0.0.1"], conditions: { ...one } });
    assert.deepEqual(of("alive"), [all.map(told)]);
    assert.deepEqual(of("stale"), [
      all.map((one) => told(one.ready ? { ...one, ready: false, serving: true } : one)),
    ]);
  });
});

test("endpoints of a headless service stay as their exporter published them, whatever the state and type of their cluster", () => {
  const conditions = [
    { ready: true, serving: true, terminating: false },
    { ready: false, serving: true, terminating: false },
    { ready: false, serving: true, terminating: true },
  ];
  const endpoints = conditions.map((one) => ({ ...READY, ...one, hostname: "db-0" }));
  const shift = { direction: "draining", from: 0, length: 1000 } as const;
  const families = ["IPv4", "IPv6"] as const;
  const oldest = contribution({ record: exportRecord({ headless: true, families }), slices: [] });
  const of = (over: Partial<Contribution>, headless = true) => {
    const record = exportRecord({ cluster: "c2", exported: 2000, headless });
    return imported([oldest, contribution({ record, slices: [slice({ endpoints })], ...over })]);
  };
  for (const family of families) {
    const slices = [slice({ family, endpoints })];
    assert.equal(of({ slices }).slices.length, 1);
    for (const state of ["stale", "drained"] as const) {
      for (const headless of [true, false]) {
        assert.deepEqual(of({ state, shift, slices }, headless), of({ slices }, headless));
      }
    }
  }
});

test("names of slices are stable and unique", () => {
  const keys = [objectKey("r1", "a"), objectKey("r1", "b"), objectKey("r2", "a")];
  const services = [KEY, objectKey("demo", "serve-c1"), objectKey("demo", "c1")];
  const clusters = ["c1", "c1.c2", "c2", "serve.c1"];
  const names = services.flatMap((service) =>
    clusters.flatMap((cluster) => keys.map((key) => importedSliceName(service, cluster, key))),
  );
  assert.equal(new Set(names).size, names.length);
  assert.equal(importedSliceName(KEY, "c1", objectKey("r1", "a")), "serve.c1.314c69466443b710");
});

/** A slice of every record, with all ports of its Service. */
function contributionsOf(records: readonly ExportRecord[]): Contribution[] {
  return records.map((record) =>
    contribution({
      record,
      slices: record.families.map((family) =>
        slice({ key: objectKey(record.cluster, family), family, ports: record.ports }),
      ),
    }),
  );
}

test("each imported port has a name of the import, and the number and protocol of a port of its cluster's Service and of the import", () =>
  forAll([ANY_RECORDS], (records) => {
    fc.pre(records.length > 0);
    const ports = merge(records)?.ports ?? [];
    for (const object of imported(contributionsOf(records)).slices) {
      const { fact, problems } = parseSlice(object);
      assert.ok(problems.every(({ reason }) => reason !== "duplicate-port"));
      const record = records.find(({ cluster }) => cluster === fact?.cluster);
      for (const { name, protocol, port } of fact?.ports ?? []) {
        const same = (one: ServicePort) => one.protocol === protocol && one.port === port;
        assert.ok(record?.ports.some(same));
        assert.equal(ports.find(same)?.name, name);
      }
    }
  }));

test("a cluster's slices depend on the import's ports, not on other exporters", () =>
  forAll([ANY_RECORDS], (records) => {
    const merged = merge(records);
    fc.pre(merged !== undefined);
    const all = contributionsOf(records);
    const one = all.flatMap((contribution) => importedSlices(merged, [contribution]).slices);
    assert.deepEqual(one, importedSlices(merged, all).slices);
  }));
