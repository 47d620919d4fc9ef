import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  ANY_RECORDS,
  anyRecord,
  CLUSTERS,
  exportRecord,
  servicePort,
} from "../../test/support/export-records.ts";
import type { ExportRecord } from "../model/facts.ts";
import { merge } from "./merge.ts";
import type { MergedPort, MergedService } from "./merged.ts";

/** What two clusters must agree on to the byte. */
function bytesOf(records: readonly ExportRecord[]): string {
  return JSON.stringify(merge(records)) ?? "nothing";
}

const SHUFFLED = ANY_RECORDS.chain((records) =>
  fc.tuple(
    fc.constant(records),
    fc.shuffledSubarray(records, { minLength: records.length }),
    fc.subarray(records),
  ),
);

test("neither order nor repetition of the records matters, to the byte", () => {
  fc.assert(
    fc.property(SHUFFLED, ([records, shuffled, again]) => {
      assert.equal(bytesOf([...again, ...shuffled, ...again]), bytesOf(records));
    }),
  );
});

test("two records of one cluster come to the same in either order", () => {
  fc.assert(
    fc.property(anyRecord("c1"), anyRecord("c1"), anyRecord("c2"), (a, b, c) => {
      assert.equal(bytesOf([a, b, c]), bytesOf([c, b, a]));
      assert.deepEqual(new Set(merge([a, b, c])?.contributors), new Set(["c1", "c2"]));
    }),
  );
});

/** A registry's news: a record that is there from now on, or none any more. */
type News = readonly [cluster: string, record: ExportRecord | undefined];

const HISTORY: fc.Arbitrary<News[]> = fc.array(
  fc
    .constantFrom(...CLUSTERS)
    .chain((cluster) =>
      fc.tuple(fc.constant(cluster), fc.option(anyRecord(cluster), { nil: undefined })),
    ),
  { maxLength: 12 },
);

function after(history: readonly News[]): ExportRecord[] {
  const records = new Map<string, ExportRecord>();
  for (const [cluster, record] of history) {
    if (record === undefined) records.delete(cluster);
    else records.set(cluster, record);
  }
  return [...records.values()];
}

test("histories that end in the same records end in the same service, however the clusters' news mix", () => {
  fc.assert(
    fc.property(HISTORY, (history) => {
      const oneByOne = CLUSTERS.toReversed().flatMap((cluster) =>
        history.filter(([of]) => of === cluster),
      );
      assert.equal(bytesOf(after(oneByOne)), bytesOf(after(history)));
    }),
  );
});

test("a cluster whose export is gone leaves nothing behind", () => {
  fc.assert(
    fc.property(HISTORY, fc.constantFrom(...CLUSTERS), (history, gone) => {
      const text = bytesOf(after([...history, [gone, undefined]]));
      assert.ok(!text.includes(gone), text);
      assert.equal(text, bytesOf(after(history.filter(([cluster]) => cluster !== gone))));
    }),
  );
});

test("an export younger than all takes nothing away from clients", () => {
  fc.assert(
    fc.property(ANY_RECORDS, anyRecord("newcomer"), (records, newcomer) => {
      const before = merge(records);
      fc.pre(before !== undefined);
      const merged = merge([...records, { ...newcomer, exported: 10 }]);
      assert.ok(merged !== undefined);
      assert.deepEqual(spoken(merged), spoken(before));
      const kept = merged.ports.slice(0, before.ports.length);
      assert.deepEqual(kept.map(withoutNewcomer), before.ports);
    }),
  );
});

/** All that clients see of a service but its ports. */
function spoken(merged: MergedService): unknown {
  return { ...merged, ports: [], contributors: [], conflicts: [] };
}

function withoutNewcomer({ clusters, ...port }: MergedPort): MergedPort {
  return { ...port, clusters: clusters.filter((cluster) => cluster !== "newcomer") };
}

test("no name and no number of a protocol is left twice, and each port knows who exposes it", () => {
  fc.assert(
    fc.property(ANY_RECORDS, (records) => {
      const ports = merge(records)?.ports ?? [];
      assert.equal(new Set(ports.map(({ name }) => name)).size, ports.length);
      assert.equal(
        new Set(ports.map(({ protocol, port }) => `${protocol} ${port}`)).size,
        ports.length,
      );
      for (const { name, protocol, port, clusters } of ports) {
        const exposing = records.filter((record) =>
          record.ports.some(
            (one) => one.name === name && one.protocol === protocol && one.port === port,
          ),
        );
        assert.deepEqual(new Set(clusters), new Set(exposing.map(({ cluster }) => cluster)));
        assert.ok(clusters.length > 0);
      }
    }),
  );
});

/** Ports of c1 (the oldest), c2 and c3 as words, and what they come to: `port: clusters`. */
const UNIONS: readonly (readonly [string, readonly string[][], readonly string[]])[] = [
  [
    "the same ports in another order",
    [
      ["a 80", "b 81"],
      ["b 81", "a 80"],
    ],
    ["a 80/TCP: c1 c2", "b 81/TCP: c1 c2"],
  ],
  [
    "C08: one more port of the younger",
    [
      ["tcp 42", "udp 42/UDP"],
      ["tcp 42", "stcp 142/SCTP"],
    ],
    ["tcp 42/TCP: c1 c2", "udp 42/UDP: c1", "stcp 142/SCTP: c2"],
  ],
  [
    "C09 and C20: the same name with another number",
    [["tcp 42"], ["tcp 4242"]],
    ["tcp 42/TCP: c1"],
  ],
  [
    "C21: another name with another number",
    [["tcp 42"], ["tcp2 4242"]],
    ["tcp 42/TCP: c1", "tcp2 4242/TCP: c2"],
  ],
  ["another name with the same number", [["a 80"], ["b 80"]], ["a 80/TCP: c1"]],
  ["no name counts as a name", [["80"], ["81"]], [" 80/TCP: c1"]],
  ["one number of two protocols", [["a 53"], ["b 53/UDP"]], ["a 53/TCP: c1", "b 53/UDP: c2"]],
  [
    "a name that loses its number to an older name is not free for the next",
    [["a 80"], ["b 80", "c 81"], ["b 90"]],
    ["a 80/TCP: c1", "c 81/TCP: c2"],
  ],
];

for (const [name, ports, expected] of UNIONS) {
  test(`ports: ${name}`, () => {
    const merged = merge(
      ports.map((words, i) =>
        exportRecord({ cluster: `c${i + 1}`, exported: i, ports: words.map(servicePort) }),
      ),
    );
    assert.deepEqual(
      merged?.ports.map(
        (port) => `${port.name} ${port.port}/${port.protocol}: ${port.clusters.join(" ")}`,
      ),
      expected,
    );
  });
}

test("the oldest export wins, whatever its cluster is called; of equal ages the first id", () => {
  const old = exportRecord({ cluster: "z", exported: 1, headless: true });
  const young = exportRecord({ cluster: "a", exported: 2 });
  assert.equal(merge([young, old])?.headless, true);
  assert.deepEqual(merge([young, old])?.contributors, ["z", "a"]);
  assert.equal(merge([{ ...young, exported: 1 }, old])?.headless, false);
  // Whatever else is in them.
  const first = exportRecord({ cluster: "a", affinitySeconds: 20 });
  const second = exportRecord({ cluster: "b", affinitySeconds: 10 });
  assert.deepEqual(merge([second, first])?.contributors, ["a", "b"]);
});

test("labels that were read in another order are the same bytes", () => {
  const map = { b: "2", a: "1" };
  const turned = { a: "1", b: "2" };
  assert.equal(
    bytesOf([exportRecord({ metadata: { labels: map, annotations: map } })]),
    bytesOf([exportRecord({ metadata: { labels: turned, annotations: turned } })]),
  );
});

test("without an export there is no service", () => {
  assert.equal(merge([]), undefined);
});
