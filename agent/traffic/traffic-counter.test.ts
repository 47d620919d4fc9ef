import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { isAddress, parseAddress } from "../../api/address.ts";
import { contains } from "../../api/cidr.ts";
import { CodedError } from "../../common/errors.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { cidr, nodeFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import type { NodeFact } from "../model/facts.ts";
import { countedMembers } from "./counted-members.ts";
import { TrafficCounter } from "./traffic-counter.ts";
import { memberOf, trafficMarks, trafficText } from "./traffic-rules.ts";

/** A counter whose table fails as long as `fault` is set. */
class Stage {
  readonly clock = new FakeClock();
  fault: Error | undefined;
  node: NodeFact | undefined;
  installs = 0;
  /** `failed CODE`, `works`. */
  readonly events: string[] = [];
  readonly counter = new TrafficCounter({
    table: {
      install: async () => {
        this.installs++;
        if (this.fault) throw this.fault;
      },
      counts: async () => {
        if (this.fault) throw this.fault;
        return [{ family: "IPv4", member: "c2", connections: 7 }];
      },
    },
    node: () => this.node,
    clock: this.clock,
    random: () => 0,
    events: {
      unavailable: (error) =>
        this.events.push(error instanceof CodedError ? `failed ${error.code}` : "works"),
    },
  });

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      await turn();
      this.clock.advance(500);
      await turn();
    }
  }
}

test("rules are written once the node is known, and checked every five seconds", async () => {
  const stage = new Stage();
  stage.counter.start();
  await stage.pass(3_000);
  assert.equal(stage.installs, 0);
  stage.node = nodeFact({});
  await stage.pass(500);
  assert.equal(stage.installs, 1);
  await stage.pass(10_000);
  assert.equal(stage.installs, 3);
  await stage.counter.stop();
  await stage.pass(10_000);
  assert.equal(stage.installs, 3);
});

test("while the table cannot be written or read there are no counts, attempts become rarer, and the end is reported", async () => {
  const stage = new Stage();
  stage.node = nodeFact({});
  stage.fault = new CodedError("CSP_EXEC_FAILED", "no");
  stage.counter.start();
  await stage.pass(60_000);
  assert.deepEqual(await stage.counter.counts(), []);
  assert.ok(stage.installs <= 5, `${stage.installs} attempts in a minute`);
  assert.ok(stage.events.every((event) => event === "failed CSP_EXEC_FAILED"));
  stage.fault = undefined;
  await stage.pass(150_000);
  assert.equal(stage.events.at(-1), "works");
  assert.equal((await stage.counter.counts())[0]?.connections, 7);
  await stage.counter.stop();
});

const RANGES = [{ text: "10.2.0.0-10.2.255.255", member: "c2" }];
const OPTIONS = {
  family: "IPv4",
  vips: [cidr("241.0.0.0/8"), cidr("fd00:241::/108")],
  counted: { members: ["c1", "c2"], ranges: RANGES, rest: "c1" },
} as const;

/** The lines, without the digest in comments. */
function linesOf(...args: Parameters<typeof trafficText>): string[] {
  return trafficText(...args)
    .replaceAll(/ [0-9a-f]{12}"/g, '"')
    .trimEnd()
    .split("\n");
}

test("the first packet of a connection to a VIP counts for the cluster of its endpoint", () => {
  assert.deepEqual(linesOf(OPTIONS, []), [
    "add table ip clusterset-connections",
    "add counter ip clusterset-connections member-c1",
    "add counter ip clusterset-connections member-c2",
    "add counter ip clusterset-connections unknown",
    "add chain ip clusterset-connections sent { type nat hook postrouting priority 90; policy accept; }",
    "flush chain ip clusterset-connections sent",
    "add chain ip clusterset-connections counted",
    "flush chain ip clusterset-connections counted",
    'add rule ip clusterset-connections sent ct direction original ct original ip daddr 241.0.0.0/8 ip daddr != 241.0.0.0/8 goto counted comment "sent 1"',
    'add rule ip clusterset-connections counted counter name ip daddr map { 10.2.0.0-10.2.255.255 : "member-c2" } accept comment "counted 1"',
    'add rule ip clusterset-connections counted counter name "member-c1" comment "counted 2"',
  ]);
});

test("counters of clusters that stay are not touched, those of others are deleted last", () => {
  const lines = linesOf(OPTIONS, ["member-c2", "member-c9", "unknown"]);
  assert.deepEqual(
    lines.filter((line) => / counter \S+ \S+ /.test(line) && !line.includes(" rule ")),
    [
      "add counter ip clusterset-connections member-c1",
      "delete counter ip clusterset-connections member-c9",
    ],
  );
  assert.equal(lines.at(-1), "delete counter ip clusterset-connections member-c9");
});

test("a table can be replaced as a whole", () => {
  const lines = linesOf(OPTIONS, undefined);
  assert.deepEqual(lines.slice(0, 3), [
    "add table ip clusterset-connections",
    "delete table ip clusterset-connections",
    "add table ip clusterset-connections",
  ]);
  assert.equal(lines.filter((line) => line.startsWith("add counter")).length, 3);
});

test("without ranges there is no map, and what belongs to no cluster has a counter", () => {
  const counted = { members: [], ranges: [], rest: undefined };
  const rules = linesOf({ ...OPTIONS, counted }, []).filter((line) => line.includes(" rule "));
  assert.equal(rules.length, 2);
  assert.match(rules[1] ?? "", /counted counter name "unknown"/);
});

test("other ranges have other comments", () => {
  const counted = { ...OPTIONS.counted, ranges: [{ text: "10.2.0.0-10.2.0.255", member: "c2" }] };
  assert.notDeepEqual(trafficMarks({ ...OPTIONS, counted }), trafficMarks(OPTIONS));
});

test("the name of a counter tells its cluster, also of one that is called unknown", () => {
  assert.equal(memberOf("member-unknown"), "unknown");
  assert.equal(memberOf("unknown"), undefined);
});

/** A node of c1, with the ranges of other clusters. */
function counted(
  ranges: Readonly<Record<string, readonly string[]>>,
  node: Partial<NodeFact> = {},
) {
  const endpointRanges = new Map(
    Object.entries(ranges).map(([id, texts]) => [id, texts.map(cidr)] as const),
  );
  return nodeFact({ cluster: "c1", podCidrs: [], endpointRanges, ...node });
}

function rangesOf(node: NodeFact, family: "IPv4" | "IPv6" = "IPv4"): string[] {
  return countedMembers(node, family).ranges.map(({ text, member }) => `${text} ${member}`);
}

const PODS = { podCidrs: [cidr("10.1.0.0/16")] };

describe("clusters to which connections are counted", () => {
  test("are those with declared ranges and this one, in each family by its own ranges", () => {
    const node = counted({ c2: ["10.2.0.0/16", "fd00:2::/48"], c3: ["10.3.0.0/24"] }, PODS);
    assert.deepEqual(countedMembers(node, "IPv4"), {
      members: ["c1", "c2", "c3"],
      ranges: [
        { text: "10.1.0.0-10.1.255.255", member: "c1" },
        { text: "10.2.0.0-10.2.255.255", member: "c2" },
        { text: "10.3.0.0-10.3.0.255", member: "c3" },
      ],
      rest: undefined,
    });
    assert.deepEqual(rangesOf(node, "IPv6"), ["fd00:2::-fd00:2:0:ffff:ffff:ffff:ffff:ffff c2"]);
  });

  test("without --pod-cidrs, the rest is this cluster's, once another has declared its ranges", () => {
    assert.equal(countedMembers(counted({ c2: ["10.2.0.0/16"] }), "IPv4").rest, "c1");
    assert.equal(countedMembers(counted({}), "IPv4").rest, undefined);
    const nameless = { ...counted({ c2: ["10.2.0.0/16"] }), cluster: undefined as never };
    assert.deepEqual(countedMembers(nameless, "IPv4").members, ["c2"]);
    assert.equal(countedMembers(nameless, "IPv4").rest, undefined);
  });

  test("are 256 others at most, those whose IDs come first", () => {
    const all = Array.from({ length: 300 }, (_, i) => `m${String(i).padStart(3, "0")}`);
    const node = counted(Object.fromEntries(all.map((id) => [id, ["10.2.0.0/16"]])));
    assert.deepEqual(countedMembers(node, "IPv4").members, ["c1", ...all.slice(0, 256)]);
    assert.equal(
      countedMembers(node, "IPv4").rest,
      undefined,
      "of c1 or of one that has no counter",
    );
  });
});

describe("ranges that overlap", () => {
  test("the narrowest counts", () => {
    const node = counted({ c2: ["10.0.0.0/8"], c3: ["10.3.0.0/16", "10.3.4.5/32"] }, PODS);
    assert.deepEqual(rangesOf(node), [
      "10.0.0.0-10.0.255.255 c2",
      "10.1.0.0-10.1.255.255 c1",
      "10.2.0.0-10.2.255.255 c2",
      "10.3.0.0-10.3.4.4 c3",
      "10.3.4.5 c3",
      "10.3.4.6-10.3.255.255 c3",
      "10.4.0.0-10.255.255.255 c2",
    ]);
  });

  test("of equal ones this cluster's counts, then the first ID's", () => {
    const same = ["10.1.0.0/16"];
    assert.deepEqual(rangesOf(counted({ a2: same, c3: same }, PODS)), ["10.1.0.0-10.1.255.255 c1"]);
    assert.deepEqual(rangesOf(counted({ c3: same, c2: same })), ["10.1.0.0-10.1.255.255 c2"]);
  });

  test("a range of all addresses says nothing: the rest is unknown", () => {
    const node = counted({ c2: ["0.0.0.0/0"], c3: ["0.0.0.0/1", "255.255.255.255/32"] });
    assert.deepEqual(rangesOf(node), ["0.0.0.0-127.255.255.255 c3", "255.255.255.255 c3"]);
    assert.equal(countedMembers(node, "IPv4").rest, undefined);
    assert.equal(countedMembers(node, "IPv6").rest, "c1");
  });

  test("any ranges become disjoint ones, in which each address has the cluster of its narrowest range", async () => {
    const octet = fc.integer({ min: 0, max: 255 });
    const range = fc.record({
      cluster: fc.constantFrom("c2", "c3", "c4"),
      bits: fc.integer({ min: 20, max: 32 }),
      octets: fc.tuple(fc.integer({ min: 0, max: 3 }), octet),
    });
    await forAll([fc.array(range, { maxLength: 12 }), octet], (declared, last) => {
      const texts = declared.map(({ cluster, bits, octets: [third, fourth] }) => {
        const address = (((10 << 24) | (third << 8) | fourth) & (-1 << (32 - bits))) >>> 0;
        const text = [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
        return { cluster, range: `${text}/${bits}` };
      });
      const of = (id: string) =>
        texts.flatMap(({ cluster, range }) => (cluster === id ? [range] : []));
      const node = counted({ c2: of("c2"), c3: of("c3"), c4: of("c4") });
      const numberOf = (text: string) => {
        const address = parseAddress(text);
        assert.ok(isAddress(address));
        return { address, number: Number.parseInt(address.hex, 16) };
      };
      const found = countedMembers(node, "IPv4").ranges.map(({ text, member }) => {
        const [from = "", to = from] = text.split("-");
        return { from: numberOf(from).number, to: numberOf(to).number, member };
      });
      for (const [i, { from, to }] of found.entries()) {
        assert.ok(from <= to);
        assert.ok(from > (found[i - 1]?.to ?? -1));
      }
      const { address, number } = numberOf(`10.0.${last % 4}.${last}`);
      const [narrowest] = texts
        .map(({ cluster, range }) => ({ cluster, cidr: cidr(range) }))
        .filter(({ cidr }) => contains(cidr, address))
        .toSorted((a, b) => b.cidr.bits - a.cidr.bits || (a.cluster < b.cluster ? -1 : 1));
      const at = found.find(({ from, to }) => from <= number && number <= to);
      assert.equal(at?.member, narrowest?.cluster);
    });
  });
});
