import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  ANY_RECORDS,
  anyRecord,
  CLUSTERS,
  exportRecord,
  servicePort,
  servicePorts,
} from "../../test/generators/export-records.ts";
import { forAll } from "../../test/generators/for-all.ts";
import type { ExportRecord } from "../model/facts.ts";
import { merge } from "./merge.ts";
import type { MergedService } from "./merged.ts";
import { joint, ownNames } from "./port-names.ts";

/** The merged service as bytes: they are equal in all clusters. */
function bytesOf(records: readonly ExportRecord[]): string {
  return JSON.stringify(merge(records)) ?? "nothing";
}

const SHUFFLED = ANY_RECORDS.chain((records) =>
  fc.tuple(fc.constant(records), fc.shuffledSubarray(records, { minLength: records.length })),
);

test("the order of the records does not matter", () =>
  forAll([SHUFFLED], ([records, shuffled]) => {
    assert.equal(bytesOf(shuffled), bytesOf(records));
  }));

/** A change of a registry: its record from now on; undefined: none. */
type RegistryChange = readonly [cluster: string, record: ExportRecord | undefined];

const HISTORY: fc.Arbitrary<RegistryChange[]> = fc.array(
  fc
    .constantFrom(...CLUSTERS)
    .chain((cluster) =>
      fc.tuple(fc.constant(cluster), fc.option(anyRecord(cluster), { nil: undefined })),
    ),
  { maxLength: 12 },
);

function after(history: readonly RegistryChange[]): ExportRecord[] {
  const records = new Map<string, ExportRecord>();
  for (const [cluster, record] of history) {
    if (record === undefined) records.delete(cluster);
    else records.set(cluster, record);
  }
  return [...records.values()];
}

test("histories that end in the same records end in the same service, in whatever order clusters change", () =>
  forAll([HISTORY], (history) => {
    const oneByOne = CLUSTERS.toReversed().flatMap((cluster) =>
      history.filter(([of]) => of === cluster),
    );
    assert.equal(bytesOf(after(oneByOne)), bytesOf(after(history)));
  }));

test("a removed export leaves no trace in the merged service", () =>
  forAll([HISTORY, fc.constantFrom(...CLUSTERS)], (history, gone) => {
    const text = bytesOf(after([...history, [gone, undefined]]));
    assert.ok(!text.includes(gone), text);
    assert.equal(text, bytesOf(after(history.filter(([cluster]) => cluster !== gone))));
  }));

test("an export younger than all changes nothing for clients", () =>
  forAll([ANY_RECORDS, anyRecord("newcomer")], (records, newcomer) => {
    const before = merge(records);
    fc.pre(before !== undefined);
    const merged = merge([...records, { ...newcomer, exported: 10 }]);
    assert.ok(merged !== undefined);
    assert.deepEqual(propertiesOf(merged), propertiesOf(before));
    const kept = merged.ports.slice(0, before.ports.length);
    assert.deepEqual(kept, before.ports);
  }));

/** The merged service without ports, exporters and conflicts. */
function propertiesOf(merged: MergedService): unknown {
  return { ...merged, ports: [], contributors: [], conflicts: [] };
}

test("merged names and numbers are unique", () =>
  forAll([ANY_RECORDS], (records) => {
    const ports = merge(records)?.ports ?? [];
    assert.equal(new Set(ports.map(({ name }) => name)).size, ports.length);
    const numbers = ports.map(({ protocol, port }) => `${protocol} ${port}`);
    assert.equal(new Set(numbers).size, ports.length);
  }));

/** Ports of c1 (the oldest), c2 and c3, and the merged ports. */
const UNIONS: readonly (readonly [name: string, ports: readonly string[], merged: string])[] = [
  ["the same ports in another order", ["a 80, b 81", "b 81, a 80"], "a 80/TCP, b 81/TCP"],
  [
    "C08: one more port of the younger",
    ["tcp 42, udp 42/UDP", "tcp 42, stcp 142/SCTP"],
    "tcp 42/TCP, udp 42/UDP, stcp 142/SCTP",
  ],
  ["C09 and C20: the same name with another number", ["tcp 42", "tcp 4242"], "tcp 42/TCP"],
  ["C21: another name with another number", ["tcp 42", "tcp2 4242"], "tcp 42/TCP, tcp2 4242/TCP"],
  ["another name with the same number", ["a 80", "b 80"], "a 80/TCP"],
  ["no name counts as a name", ["80", "81"], " 80/TCP"],
  ["one number of two protocols", ["a 53", "b 53/UDP"], "a 53/TCP, b 53/UDP"],
  [
    "a name that loses its number to an older name is not free for the next",
    ["a 80", "b 80, c 81", "b 90"],
    "a 80/TCP, c 81/TCP",
  ],
];

for (const [name, ports, expected] of UNIONS) {
  test(`ports: ${name}`, () => {
    const records = ports.map((words, i) =>
      exportRecord({ cluster: `c${i + 1}`, exported: i, ports: servicePorts(words) }),
    );
    const merged = merge(records)?.ports.map((one) => `${one.name} ${one.port}/${one.protocol}`);
    assert.equal(merged?.join(", "), expected);
  });
}

test("the oldest export wins; of equal ages the first cluster ID", () => {
  const old = exportRecord({ cluster: "z", exported: 1, headless: true });
  const young = exportRecord({ cluster: "a", exported: 2 });
  assert.equal(merge([young, old])?.headless, true);
  assert.deepEqual(merge([young, old])?.contributors, ["z", "a"]);
  const same = merge([old, { ...young, exported: 1 }]);
  assert.deepEqual([same?.headless, same?.contributors], [false, ["a", "z"]]);
});

test("the order of labels and annotations does not matter", () => {
  const map = { b: "2", a: "1" };
  const reversed = { a: "1", b: "2" };
  assert.equal(
    bytesOf([exportRecord({ metadata: { labels: map, annotations: map } })]),
    bytesOf([exportRecord({ metadata: { labels: reversed, annotations: reversed } })]),
  );
});

const CLIENT_IP = { sessionAffinity: "ClientIP" } as const;
const H2C = { ...servicePort("http 80"), appProtocol: "h2c" };
const labelled = (labels: ExportRecord["metadata"]["labels"], annotations = {}) => ({
  metadata: { labels, annotations },
});

type Fields = Partial<ExportRecord>;
/** Fields of the younger export, those of the oldest one, and the resulting reasons. */
const CASES: Readonly<Record<string, readonly [Fields, oldest: Fields, ...reasons: string[]]>> = {
  "the same": [{}, {}],
  "C08: one port more": [{ ports: servicePorts("http 80, more 81") }, {}, "PortConflict"],
  "C09: another number": [{ ports: servicePorts("http 81") }, {}, "PortConflict"],
  "another application protocol": [{ ports: [H2C] }, {}, "PortConflict"],
  "the ports in another order": [
    { ports: servicePorts("b 81, a 80") },
    { ports: servicePorts("a 80, b 81") },
  ],
  "C13: headless": [{ headless: true }, {}, "TypeConflict"],
  "other affinity": [CLIENT_IP, {}, "SessionAffinityConflict"],
  "other affinity with a timeout: one reason for one mistake": [
    { ...CLIENT_IP, affinitySeconds: 10 },
    {},
    "SessionAffinityConflict",
  ],
  "another timeout": [
    { ...CLIENT_IP, affinitySeconds: 20 },
    { ...CLIENT_IP, affinitySeconds: 10 },
    "SessionAffinityConfigConflict",
  ],
  "the default timeout, said and not said": [CLIENT_IP, { ...CLIENT_IP, affinitySeconds: 10800 }],
  "other internal policy": [
    { internalTrafficPolicy: "Local" },
    {},
    "InternalTrafficPolicyConflict",
  ],
  "the default internal policy, said and not said": [{ internalTrafficPolicy: "Cluster" }, {}],
  "other distribution": [
    { trafficDistribution: "PreferSameNode" },
    {},
    "TrafficDistributionConflict",
  ],
  "two names of one distribution": [
    { trafficDistribution: "PreferClose" },
    { trafficDistribution: "PreferSameZone" },
  ],
  "C16: other labels and annotations": [
    labelled({ a: "1" }, { b: "2" }),
    {},
    ...["LabelsConflict", "AnnotationsConflict"],
  ],
  "the same labels in another order": [labelled({ b: "2", a: "1" }), labelled({ a: "1", b: "2" })],
  "a family of the VIPs that the younger lacks": [
    { families: ["IPv4"] },
    { families: ["IPv4", "IPv6"] },
    "IPFamilyConflict",
  ],
  "a family that only the younger has gets no VIP": [{ families: ["IPv6", "IPv4"] }, {}],
  "no family in common": [{ families: ["IPv6"] }, {}, "IPFamilyConflict"],
};

describe("a younger export with", () => {
  for (const [name, [younger, oldest, ...reasons]] of Object.entries(CASES)) {
    test(name, () => {
      const merged = merge([
        exportRecord({ ...younger, cluster: "a", exported: 2 }),
        exportRecord({ ...oldest, cluster: "z", exported: 1 }),
      ]);
      const told = merged?.conflicts.map(({ reason }) => reason);
      assert.deepEqual(told, reasons);
      for (const { winner, disagree, of } of merged?.conflicts ?? []) {
        assert.deepEqual([winner, disagree, of], ["z", 1, 2]);
      }
    });
  }
});

test("a conflict has the oldest export as winner and at least one that disagrees; a single export has no conflict", () =>
  forAll([ANY_RECORDS], (records) => {
    const merged = merge(records);
    for (const { winner, disagree, of, value } of merged?.conflicts ?? []) {
      assert.equal(winner, merged?.contributors[0]);
      assert.equal(of, records.length);
      assert.ok(disagree > 0 && disagree < of);
      assert.ok(value.length < 100);
    }
    for (const record of records) assert.deepEqual(merge([record])?.conflicts, []);
  }));

test("the message of a condition is one printable line for any export", () => {
  const merged = merge([
    exportRecord({ trafficDistribution: `\u001b[31m\n${"x".repeat(10_000)}` }),
    exportRecord({ cluster: "c2", exported: 2000 }),
  ]);
  assert.match(merged?.conflicts[0]?.value ?? "", /^[\x20-\x7e]{1,90}$/);
});

// `importedNames`: controller/import/imported-slices.test.ts.

/** Own ports, and those of the import that they serve; the import has `http 80` and `admin 81`. */
const OWN: readonly (readonly [own: string, serves: string])[] = [
  ["http 80, admin 81", "http as http, admin as admin"],
  ["web 80", "http as web"],
  ["80", "http as "],
  // A proxy knows no numbers of other clusters.
  ["http 8080", "http as http"],
  ["http 8080, web 80", "http as http"],
  ["admin 80", "admin as admin"],
  ["http 81, admin 80", "http as http, admin as admin"],
  ["web 80/UDP", ""],
  ["web 82", ""],
];

for (const [own, serves] of OWN) {
  test(`a Service with ${own} serves ${serves || "nothing"}`, () => {
    const imported = servicePorts("http 80, admin 81");
    const names = ownNames(servicePorts(own), imported);
    const found = imported.flatMap((port) => {
      const name = names.get(joint(port));
      return name === undefined ? [] : [`${port.name} as ${name}`];
    });
    assert.equal(found.join(", "), serves);
    assert.equal(names.size, found.length);
  });
}
