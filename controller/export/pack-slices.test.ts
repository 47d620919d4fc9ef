import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { forMany } from "../../test/generators/for-all.ts";
import type { EndpointFact, ServicePort, SliceFact } from "../model/facts.ts";
import { sameEndpoints } from "../model/facts.ts";
import { type EndpointGroup, groupKey } from "./endpoint-groups.ts";
import { packSlices } from "./pack-slices.ts";

const PACKING = {
  service: "demo/serve",
  families: ["IPv4"],
  keyOf: (family: string, index: number) => `registry/serve.demo.${family}-${index}` as const,
} as const;
const HTTP: ServicePort = { name: "http", protocol: "TCP", port: 8080 };
const METRICS: ServicePort = { name: "metrics", protocol: "TCP", port: 9090 };
const PORTS = [[HTTP], [HTTP, METRICS], [{ ...HTTP, port: 8081 }]] as const;

function endpoint(n: number, ready = true): EndpointFact {
  const address = `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
  return { address, ready, serving: ready, terminating: false };
}

function group(
  endpoints: readonly EndpointFact[],
  ports: readonly ServicePort[] = [HTTP],
  family: EndpointGroup["family"] = "IPv4",
): EndpointGroup {
  return { family, ports, endpoints };
}

function upTo(count: number): EndpointFact[] {
  return Array.from({ length: count }, (_, n) => endpoint(n));
}

/** Names of the slices to write or delete. */
function touched(before: readonly SliceFact[], after: readonly SliceFact[]): string[] {
  const old = new Map(before.map((slice) => [slice.key, slice]));
  const now = new Map(after.map((slice) => [slice.key, slice]));
  return [...new Set([...old.keys(), ...now.keys()])].filter((key) => {
    const [a, b] = [old.get(key), now.get(key)];
    if (a === undefined || b === undefined) return true;
    return (
      groupKey(a.family, a.ports) !== groupKey(b.family, b.ports) ||
      !sameEndpoints(a.endpoints, b.endpoints)
    );
  });
}

function byAddress(a: EndpointFact, b: EndpointFact): number {
  return a.address < b.address ? -1 : 1;
}

function sizes(slices: readonly SliceFact[]): number[] {
  return slices.map(({ endpoints }) => endpoints.length);
}

/** The first endpoints in slices of these sizes. */
function publishedAs(wanted: readonly number[]): SliceFact[] {
  const rest = upTo(wanted.reduce((sum, size) => sum + size, 0));
  return wanted.map((size, i) => ({
    key: PACKING.keyOf("IPv4", i),
    service: "demo/serve",
    family: "IPv4",
    ports: [HTTP],
    endpoints: rest.splice(0, size),
  }));
}

describe("packSlices", () => {
  test("without endpoints there is one empty slice per family", () => {
    const slices = packSlices([], [], { ...PACKING, families: ["IPv6", "IPv4"] });
    const parts = slices.map(({ key, ports, endpoints }) => [key, ports, endpoints]);
    const empty = (family: string) => [`registry/serve.demo.${family}-0`, [], []];
    assert.deepEqual(parts, [empty("IPv4"), empty("IPv6")]);
    assert.deepEqual(packSlices(slices, [], PACKING), slices.slice(0, 1));
  });

  test("after the removal of the last endpoint, all slices stay empty and are reused later", () => {
    const before = packSlices([], [group(upTo(250))], PACKING);
    const emptied = packSlices(before, [], PACKING);
    const empty = before.map((slice) => ({ ...slice, endpoints: [] }));
    assert.deepEqual(emptied, empty);
    assert.deepEqual(packSlices(emptied, [], PACKING), emptied);
    assert.deepEqual(packSlices(emptied, [group(upTo(250))], PACKING), before);
    assert.deepEqual(sizes(packSlices(emptied, [group(upTo(1))], PACKING)), [1]);
  });

  test("the first endpoint of a family goes into its empty slice, with any ports", () => {
    const before = packSlices([], [], PACKING);
    const after = packSlices(before, [group(upTo(1), [METRICS])], PACKING);
    const slices = after.map(({ key, ports }) => [key, ports]);
    assert.deepEqual(slices, [["registry/serve.demo.IPv4-0", [METRICS]]]);
  });

  test("one family keeps an empty slice while the other has endpoints", () => {
    const six = { ...endpoint(1), address: "fd00::1" };
    const packing = { ...PACKING, families: ["IPv4", "IPv6"] } as const;
    const before = packSlices([], [group(upTo(1)), group([six], [HTTP], "IPv6")], packing);
    assert.deepEqual(sizes(packSlices(before, [group(upTo(1))], packing)), [1, 0]);
  });

  test("a slice without endpoints is deleted, and its name is reused", () => {
    const before = packSlices([], [group(upTo(101))], PACKING);
    const after = packSlices(before, [group(upTo(100))], PACKING);
    assert.deepEqual(sizes(after), [100]);
    assert.deepEqual(packSlices(after, [group(upTo(101))], PACKING), before);
  });

  test("after a change of a port number, endpoints stay in their slices", () => {
    const before = packSlices([], [group(upTo(150))], PACKING);
    const after = packSlices(before, [group(upTo(150), [{ ...HTTP, port: 8081 }])], PACKING);
    const held = (all: readonly SliceFact[]) => all.map(({ key, endpoints }) => [key, endpoints]);
    assert.deepEqual(held(after), held(before));
    const numbers = after.map(({ ports }) => ports[0]?.port);
    assert.deepEqual(numbers, [8081, 8081]);
  });

  test("a slice never changes its family", () => {
    const six = { ...endpoint(1), address: "fd00::1" };
    const before = packSlices([], [group([endpoint(1)])], PACKING);
    const packing = { ...PACKING, families: ["IPv6"] } as const;
    const [after] = packSlices(before, [group([six], [HTTP], "IPv6")], packing);
    assert.equal(after?.key, "registry/serve.demo.IPv6-0");
  });

  /** Sizes of published slices; how many of their first endpoints stay, without some; whether there is a new one; sizes afterwards. */
  const SIZES: Readonly<
    Record<
      string,
      { before: number[]; stay: number; without?: number; isNew?: boolean; after: number[] }
    >
  > = {
    "puts a hundred endpoints in a slice": { before: [], stay: 250, after: [100, 100, 50] },
    "a new endpoint goes to the fullest slice with room, so that others may become empty": {
      ...{ before: [10, 60, 100], stay: 170, isNew: true, after: [10, 61, 100] },
    },
    "new endpoints without room in any slice get a new slice": {
      ...{ before: [50, 50], stay: 160, after: [50, 50, 60] },
    },
    "the replacement of a slice's last endpoint writes only that slice": {
      ...{ before: [1, 50], stay: 51, without: 0, isNew: true, after: [1, 50] },
    },
    "a replacement in the sparser of two slices writes only that slice": {
      ...{ before: [90, 50], stay: 140, without: 139, isNew: true, after: [90, 50] },
    },
    "of too many slices, the sparsest are deleted": {
      ...{ before: [30, 1, 1, 40, 1], stay: 73, after: [30, 42, 1] },
    },
    "an empty slice is deleted if the others suffice": {
      ...{ before: [33, 33, 33, 1, 1], stay: 99, isNew: true, after: [34, 33, 33] },
    },
    "no slice is added beyond twice the necessary number plus one": {
      ...{ before: [22, 22, 22, 22, 22], stay: 200, after: [100, 34, 22, 22, 22] },
    },
  };
  for (const [name, { before, stay, without, isNew, after }] of Object.entries(SIZES)) {
    test(name, () => {
      const wanted = upTo(stay).filter((_, n) => n !== without);
      if (isNew) wanted.push(endpoint(999));
      assert.deepEqual(sizes(packSlices(publishedAs(before), [group(wanted)], PACKING)), after);
    });
  }

  test("an endpoint in two slices stays in one", () => {
    const [slice] = packSlices([], [group(upTo(2))], PACKING);
    assert.ok(slice);
    const twice = [slice, { ...slice, key: "registry/serve.demo.IPv4-1" as const }];
    assert.deepEqual(packSlices(twice, [group(upTo(2))], PACKING), [slice]);
  });

  test("slices that another writer overfilled are reduced to a hundred", () => {
    const [slice] = packSlices([], [group(upTo(1))], PACKING);
    assert.ok(slice);
    const after = packSlices([{ ...slice, endpoints: upTo(130) }], [group(upTo(130))], PACKING);
    assert.deepEqual(sizes(after), [100, 30]);
  });

  // Steps through a prime number of endpoints give each at most once, and lists with many overlaps.
  const [stride, unready] = [fc.integer({ min: 1, max: 606 }), fc.integer({ min: 2, max: 9 })];
  const endpoints = fc
    .tuple(fc.nat(606), stride, fc.nat(400), unready)
    .map(([start, stride, count, unready]) =>
      Array.from({ length: count }, (_, i) => (start + i * stride) % 607).map((n) =>
        endpoint(n, n % unready !== 0),
      ),
    )
    .filter((list) => list.length > 0);
  const groups = fc
    .uniqueArray(fc.tuple(fc.nat(2), fc.constantFrom("IPv4" as const, "IPv6" as const)), {
      maxLength: 3,
      selector: ([ports, family]) => `${ports} ${family}`,
    })
    .chain((kinds) =>
      fc.tuple(
        ...kinds.map(([ports, family]) =>
          endpoints.map((list) => group(list, PORTS[ports], family)),
        ),
      ),
    );

  test("holds each endpoint once, in slices of its group, after any history", () =>
    forMany(300, [fc.array(groups, { minLength: 1, maxLength: 5 })], (history) => {
      let slices: SliceFact[] = [];
      for (const wanted of history) {
        slices = packSlices(slices, wanted, PACKING);
        const used = slices.filter(({ endpoints }) => endpoints.length > 0);
        const held = Map.groupBy(used, ({ family, ports }) => groupKey(family, ports));
        assert.equal(new Set(slices.map(({ key }) => key)).size, slices.length);
        assert.ok(slices.every(({ endpoints }) => endpoints.length <= 100));
        // A family without endpoints has an empty slice.
        assert.ok(slices.some(({ family }) => family === "IPv4"));
        for (const { family } of slices.filter(({ endpoints }) => endpoints.length === 0)) {
          assert.equal(family, "IPv4");
          assert.ok(!used.some((slice) => slice.family === family));
        }
        for (const { family, ports, endpoints } of wanted) {
          const mine = held.get(groupKey(family, ports)) ?? [];
          held.delete(groupKey(family, ports));
          const all = mine.flatMap((slice) => slice.endpoints);
          assert.ok(sameEndpoints(all.toSorted(byAddress), endpoints.toSorted(byAddress)));
          assert.ok(mine.length <= 2 * Math.ceil(endpoints.length / 100) + 1);
        }
        assert.equal(held.size, 0);
        assert.deepEqual(packSlices(slices, wanted, PACKING), slices);
      }
    }));

  test("one added, removed or changed endpoint writes one slice while no slice is too sparse", () =>
    forMany(300, [fc.array(groups, { minLength: 1, maxLength: 3 }), fc.nat(700)], (history, n) => {
      let slices: SliceFact[] = [];
      for (const wanted of history) slices = packSlices(slices, wanted, PACKING);
      const [first, ...others] = history.at(-1) ?? [];
      if (first === undefined || first.endpoints.length < 2) return;
      const mine = slices.filter(
        (s) => groupKey(s.family, s.ports) === groupKey(first.family, first.ports),
      );
      const rest = first.endpoints.filter(({ address }) => address !== endpoint(n).address);
      if (mine.length > 2 * Math.ceil(rest.length / 100) + 1) return;
      for (const endpoints of [rest, [...rest, endpoint(n)], [...rest, endpoint(n, false)]]) {
        const after = packSlices(slices, [{ ...first, endpoints }, ...others], PACKING);
        assert.ok(touched(slices, after).length <= 1);
      }
    }));
});
