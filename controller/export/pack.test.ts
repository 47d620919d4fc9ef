import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { EndpointFact, ServicePort, SliceFact } from "../model/facts.ts";
import { sameEndpoints } from "../model/same-endpoints.ts";
import { type EndpointGroup, groupKey } from "./endpoint-groups.ts";
import { pack } from "./pack.ts";

const PACKING = {
  service: "demo/serve",
  families: ["IPv4"],
  keyOf: (family: string, index: number) => `registry/serve.demo.${family}-${index}` as const,
} as const;
const HTTP: ServicePort = { name: "http", protocol: "TCP", port: 8080 };
const METRICS: ServicePort = { name: "metrics", protocol: "TCP", port: 9090 };
const PORTS = [[HTTP], [HTTP, METRICS], [{ ...HTTP, port: 8081 }]] as const;

function endpoint(n: number, ready = true): EndpointFact {
  return {
    address: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
    ready,
    serving: ready,
    terminating: false,
  };
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

/** Names of the slices that a writer would have to write, or delete. */
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

describe("pack", () => {
  test("puts a hundred endpoints in a slice", () => {
    assert.deepEqual(sizes(pack([], [group(upTo(250))], PACKING)), [100, 100, 50]);
  });

  test("of nobody is one empty slice for each family of the Service", () => {
    const slices = pack([], [], { ...PACKING, families: ["IPv6", "IPv4"] });
    assert.deepEqual(
      slices.map(({ key, family, ports, endpoints }) => [key, family, ports, endpoints]),
      [
        ["registry/serve.demo.IPv4-0", "IPv4", [], []],
        ["registry/serve.demo.IPv6-0", "IPv6", [], []],
      ],
    );
    assert.deepEqual(pack(slices, [], PACKING), slices.slice(0, 1));
  });

  test("when the last endpoint goes, all slices stay, emptied; who comes back finds them", () => {
    const before = pack([], [group(upTo(250))], PACKING);
    const emptied = pack(before, [], PACKING);
    assert.deepEqual(
      emptied,
      before.map((slice) => ({ ...slice, endpoints: [] })),
    );
    assert.deepEqual(pack(emptied, [], PACKING), emptied);
    assert.deepEqual(pack(emptied, [group(upTo(250))], PACKING), before);
    assert.deepEqual(sizes(pack(emptied, [group(upTo(1))], PACKING)), [1]);
  });

  test("the first endpoint of a family goes into its empty slice, whatever its ports", () => {
    const before = pack([], [], PACKING);
    const after = pack(before, [group(upTo(1), [METRICS])], PACKING);
    assert.deepEqual(
      after.map(({ key, ports }) => [key, ports]),
      [["registry/serve.demo.IPv4-0", [METRICS]]],
    );
  });

  test("one family keeps an empty slice while the other has endpoints", () => {
    const six = { ...endpoint(1), address: "fd00::1" };
    const packing = { ...PACKING, families: ["IPv4", "IPv6"] } as const;
    const before = pack([], [group(upTo(1)), group([six], [HTTP], "IPv6")], packing);
    assert.deepEqual(sizes(pack(before, [group(upTo(1))], packing)), [1, 0]);
  });

  test("an endpoint that is replaced by another leaves its place to it", () => {
    const before = pack([], [group(upTo(250))], PACKING);
    const wanted = [...upTo(250).toSpliced(20, 1), endpoint(999)];
    const after = pack(before, [group(wanted)], PACKING);
    assert.deepEqual(touched(before, after), ["registry/serve.demo.IPv4-0"]);
  });

  test("a slice whose last endpoint goes is gone, and its name is free for a later one", () => {
    const before = pack([], [group(upTo(101))], PACKING);
    const after = pack(before, [group(upTo(100))], PACKING);
    assert.deepEqual(sizes(after), [100]);
    assert.deepEqual(pack(after, [group(upTo(101))], PACKING), before);
  });

  test("when a port changes its number, its endpoints stay in their slices", () => {
    const before = pack([], [group(upTo(150))], PACKING);
    const after = pack(before, [group(upTo(150), [{ ...HTTP, port: 8081 }])], PACKING);
    assert.deepEqual(
      after.map(({ key, endpoints }) => [key, endpoints]),
      before.map(({ key, endpoints }) => [key, endpoints]),
    );
    assert.deepEqual(
      after.map(({ ports }) => ports[0]?.port),
      [8081, 8081],
    );
  });

  test("a slice never changes its family", () => {
    const six = { ...endpoint(1), address: "fd00::1" };
    const before = pack([], [group([endpoint(1)])], PACKING);
    const packing = { ...PACKING, families: ["IPv6"] } as const;
    const [after] = pack(before, [group([six], [HTTP], "IPv6")], packing);
    assert.equal(after?.key, "registry/serve.demo.IPv6-0");
  });

  test("a new endpoint goes to the fullest slice with room, so that others may become empty", () => {
    const before = publishedAs([10, 60, 100]);
    const after = pack(before, [group([...upTo(170), endpoint(999)])], PACKING);
    assert.deepEqual(sizes(after), [10, 61, 100]);
  });

  test("new endpoints that no slice has room for get one of their own", () => {
    const before = publishedAs([50, 50]);
    assert.deepEqual(sizes(pack(before, [group(upTo(160))], PACKING)), [50, 50, 60]);
  });

  test("a slice whose last endpoint is replaced is written, and no other", () => {
    const before = publishedAs([1, 50]);
    const wanted = [...upTo(51).slice(1), endpoint(999)];
    assert.deepEqual(sizes(pack(before, [group(wanted)], PACKING)), [1, 50]);
  });

  test("an endpoint that is replaced in the emptier of two slices changes only that one", () => {
    const before = publishedAs([90, 50]);
    const wanted = [...upTo(140).slice(0, -1), endpoint(999)];
    assert.deepEqual(sizes(pack(before, [group(wanted)], PACKING)), [90, 50]);
  });

  test("of too many slices, the sparsest are given up", () => {
    const before = publishedAs([30, 1, 1, 40, 1]);
    assert.deepEqual(sizes(pack(before, [group(upTo(73))], PACKING)), [30, 42, 1]);
  });

  test("a slice that becomes empty goes where there are enough without it", () => {
    const before = publishedAs([33, 33, 33, 1, 1]);
    const wanted = [...upTo(99), endpoint(999)];
    assert.deepEqual(sizes(pack(before, [group(wanted)], PACKING)), [34, 33, 33]);
  });

  test("no slice is added where there are twice as many as needed, and one", () => {
    const before = publishedAs([22, 22, 22, 22, 22]);
    assert.deepEqual(sizes(pack(before, [group(upTo(200))], PACKING)), [100, 34, 22, 22, 22]);
  });

  test("an endpoint that two slices list stays in one", () => {
    const [slice] = pack([], [group(upTo(2))], PACKING);
    assert.ok(slice);
    const twice = [slice, { ...slice, key: "registry/serve.demo.IPv4-1" as const }];
    assert.deepEqual(pack(twice, [group(upTo(2))], PACKING), [slice]);
  });

  test("slices that somebody overfilled are brought back to a hundred", () => {
    const [slice] = pack([], [group(upTo(1))], PACKING);
    assert.ok(slice);
    const after = pack([{ ...slice, endpoints: upTo(130) }], [group(upTo(130))], PACKING);
    assert.deepEqual(sizes(after), [100, 30]);
  });

  test("slices that emptied out are united when there are twice as many as needed", () => {
    let slices = pack([], [group(upTo(1000))], PACKING);
    const tenth = upTo(1000).filter((_, n) => n % 10 === 0);
    slices = pack(slices, [group(tenth)], PACKING);
    assert.equal(slices.length, 3);
    assert.deepEqual(slices.flatMap(({ endpoints }) => endpoints).length, 100);
  });

  // Strides through a prime number of endpoints: each at most once, and lists overlap in many ways.
  const endpoints = fc
    .tuple(
      fc.nat(606),
      fc.integer({ min: 1, max: 606 }),
      fc.nat(400),
      fc.integer({ min: 2, max: 9 }),
    )
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

  test("holds each endpoint once, in slices of its group, after any history", () => {
    fc.assert(
      fc.property(fc.array(groups, { minLength: 1, maxLength: 5 }), (history) => {
        let slices: SliceFact[] = [];
        for (const wanted of history) {
          slices = pack(slices, wanted, PACKING);
          const used = slices.filter(({ endpoints }) => endpoints.length > 0);
          const held = Map.groupBy(used, ({ family, ports }) => groupKey(family, ports));
          assert.equal(new Set(slices.map(({ key }) => key)).size, slices.length);
          assert.ok(slices.every(({ endpoints }) => endpoints.length <= 100));
          // Where a family of the Service has nobody, that is said; where it has somebody, nothing else is.
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
          assert.deepEqual(pack(slices, wanted, PACKING), slices);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("one endpoint that comes, goes or changes touches one slice while none is too sparse", () => {
    fc.assert(
      fc.property(fc.array(groups, { minLength: 1, maxLength: 3 }), fc.nat(700), (history, n) => {
        let slices: SliceFact[] = [];
        for (const wanted of history) slices = pack(slices, wanted, PACKING);
        const [first, ...others] = history.at(-1) ?? [];
        if (first === undefined || first.endpoints.length < 2) return;
        const mine = slices.filter(
          (s) => groupKey(s.family, s.ports) === groupKey(first.family, first.ports),
        );
        const rest = first.endpoints.filter(({ address }) => address !== endpoint(n).address);
        if (mine.length > 2 * Math.ceil(rest.length / 100) + 1) return;
        for (const endpoints of [rest, [...rest, endpoint(n)], [...rest, endpoint(n, false)]]) {
          const after = pack(slices, [{ ...first, endpoints }, ...others], PACKING);
          assert.ok(touched(slices, after).length <= 1);
        }
      }),
      { numRuns: 300 },
    );
  });
});
