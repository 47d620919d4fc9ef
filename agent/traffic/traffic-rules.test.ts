import assert from "node:assert/strict";
import { test } from "node:test";
import { cidr } from "../../test/generators/facts.ts";
import { memberOf, trafficComments, trafficText } from "./traffic-rules.ts";

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
  assert.notDeepEqual(trafficComments({ ...OPTIONS, counted }), trafficComments(OPTIONS));
});

test("the name of a counter tells its cluster, also of one that is called unknown", () => {
  assert.equal(memberOf("member-unknown"), "unknown");
  assert.equal(memberOf("unknown"), undefined);
});
