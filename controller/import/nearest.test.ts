import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cidr } from "../../api/cidr.ts";
import { cidr } from "../../test/generators/facts.ts";
import { SLICE } from "../../test/generators/registry-facts.ts";
import type { Claim, Condition } from "../model/condition.ts";
import type { EndpointFact, SliceFact } from "../model/facts.ts";
import type { RotationState } from "../model/rotation.ts";
import { conditionEvents } from "./condition-events.ts";
import type { Contribution } from "./imported-slices.ts";
import { nearestOf } from "./nearest.ts";
import { outsideOf } from "./outside.ts";
import { withRotation } from "./rotation-message.ts";

const HERE = { cluster: "c1", region: "eu" };

function share(
  cluster: string,
  region: string | undefined,
  conditions: readonly boolean[],
  state: RotationState = "alive",
): Contribution {
  const endpoints = conditions.map((ready, i): EndpointFact => {
    return { address: `10.0.0.${i}`, ready, serving: ready, terminating: false };
  });
  const key = `shop/web-${cluster}` as const;
  const slice = { key, service: "shop/web", family: "IPv4", ports: [], endpoints } as const;
  return {
    // The rest of a record has no part in it.
    record: { cluster } as Contribution["record"],
    slices: [slice],
    state,
    ...(region !== undefined && { cluster: { region, properties: {} } }),
  };
}

test("the nearest place is the first with a ready endpoint in a cluster in rotation", () => {
  const c1 = share("c1", "eu", [false, true]);
  const c2 = share("c2", "eu", [true]);
  const c3 = share("c3", "us", [true]);
  const of = (...shares: readonly Contribution[]) => {
    const { exporters, ...rest } = nearestOf(shares, HERE);
    const clusters = shares.map(({ record }) => record.cluster);
    assert.deepEqual(exporters, clusters);
    return rest;
  };
  const all = { place: "local", clusters: ["c1"], exportedHere: true };
  assert.deepEqual(of(c3, c2, c1), all);
  const none = share("c1", "eu", [false]);
  const regional = { place: "regional", clusters: ["c2"], exportedHere: true };
  assert.deepEqual(of(none, c2, c3), regional);
  assert.deepEqual(of(c2, c3), { ...regional, exportedHere: false });
  for (const state of ["stale", "drained"] as const) {
    const away = share("c2", "eu", [true], state);
    const global = { place: "global", clusters: ["c3"], exportedHere: true };
    assert.deepEqual(of(none, away, c3), global, state);
    assert.deepEqual(of(none, away), { place: "none", clusters: [], exportedHere: true }, state);
  }
});

test("clusters of the same place are all named; an unknown region is no region's", () => {
  const [c2, c3] = [share("c2", undefined, [true]), share("c3", "eu", [true])];
  assert.deepEqual(nearestOf([c3, c2], { cluster: "c1" }), {
    ...{ place: "global", clusters: ["c2", "c3"], exporters: ["c3", "c2"], exportedHere: false },
  });
  assert.equal(nearestOf([c2, c3], HERE).clusters.join(), "c3");
});

/** A slice with these addresses, in any state. */
function slice(...addresses: readonly string[]): SliceFact {
  const conditions = { ready: false, serving: false, terminating: false };
  return { ...SLICE, endpoints: addresses.map((address) => ({ address, ...conditions })) };
}

/** Ranges by who declares them; undefined: it does not say. */
function declared(by: Readonly<Record<string, string | undefined>>) {
  const cidrsOf = (text: string | undefined): readonly Cidr[] | undefined =>
    text?.split(",").map(cidr);
  return { ranges: new Map(Object.entries(by).map(([name, text]) => [name, cidrsOf(text)])) };
}

const PODS = "10.1.0.0/16,fd00:1::/48";

test("endpoints outside are counted once each, with the first as an example", () => {
  const slices = [slice("192.0.2.8", "10.1.0.7"), slice("fd00:2::1", "192.0.2.8", "fd00:1::1")];
  assert.deepEqual(outsideOf(slices, declared({ hub: PODS })), {
    count: 2,
    of: 4,
    example: "192.0.2.8",
    by: "hub",
    ranges: PODS,
    everywhere: new Set(["192.0.2.8", "fd00:2::1"]),
  });
});

test("nothing is outside without ranges, without endpoints, or if all are inside", () => {
  const inside = slice("10.1.0.7", "fd00:1::1");
  assert.equal(outsideOf([inside], declared({ hub: PODS })), undefined);
  assert.equal(outsideOf([inside], declared({ hub: "0.0.0.0/0,::/0" })), undefined);
  assert.equal(outsideOf([slice()], declared({ hub: PODS })), undefined);
  assert.equal(outsideOf([slice("192.0.2.8")], declared({})), undefined);
  assert.equal(outsideOf([slice("192.0.2.8")], declared({ c2: undefined })), undefined);
});

test("of several clusters, the one that rejects most is named, and an endpoint is lost that none accepts", () => {
  const slices = [slice("10.1.0.7", "10.2.0.7", "192.0.2.8")];
  const by = { c2: PODS, c3: "10.1.0.0/16,10.2.0.0/16", c4: PODS };
  const found = outsideOf(slices, declared(by));
  assert.equal(`${found?.by} ${found?.count} ${found?.example}`, "c2 2 10.2.0.7");
  assert.deepEqual([...(found?.everywhere ?? [])], ["192.0.2.8"]);
  const unknown = outsideOf(slices, declared({ ...by, c5: undefined }));
  assert.deepEqual([...(unknown?.everywhere ?? [])], []);
  assert.equal(unknown?.count, 2);
});

/** `"Ready True Exported"`, several joined by commas. */
function claims(text: string): Claim[] {
  return text.split(", ").map((one) => {
    const [type = "", status = "", reason = ""] = one.split(" ");
    const known = (["True", "False", "Unknown"] as const).find((word) => word === status);
    return { type, status: known ?? "Unknown", reason, message: "" };
  });
}

function conditions(text: string): Condition[] {
  const times = { lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1 };
  return claims(text).map((claim) => ({ ...claim, ...times }));
}

const GOOD = "Valid True Valid, Ready True Ready, Conflict False NoConflicts";
for (const [name, before, after, news] of [
  ["a new export that is ready", "", GOOD, "Normal Ready"],
  ["one that waits", "", "Valid True Valid, Ready False Pending", ""],
  ["one that nothing has changed for", GOOD, GOOD, ""],
  ["one without a Service", "", "Valid False NoService, Ready False Pending", "Warning NoService"],
  [
    "a conflict",
    GOOD,
    GOOD.replace("False NoConflicts", "True PortConflict"),
    "Warning PortConflict",
  ],
  ["its end", GOOD.replace("False NoConflicts", "True PortConflict"), GOOD, "Normal NoConflicts"],
  ["a registry that refuses", GOOD, GOOD.replace("True Ready", "False Failed"), "Warning Failed"],
] as const) {
  test(`Events for ${name}: ${news || "none"}`, () => {
    const seen = before === "" ? [] : conditions(before);
    const told = conditionEvents(claims(after), seen);
    assert.equal(told.map(({ level, reason }) => `${level} ${reason}`).join(), news);
  });
}

const DRAIN = {
  cluster: "c.1",
  drain: { where: "Lease of c.1", from: 0, until: 60_000, by: "ann", reason: "a. b" },
};

test("a message names stale and drained clusters, and those of before no more", () => {
  const both = withRotation("Headless.", [DRAIN], ["c.1", "c2"]);
  assert.equal(
    both,
    "Headless. Stale: c.1, c2. Drained: c.1 until 1970-01-01T00:01:00.000Z by ann (a. b).",
  );
  assert.equal(withRotation(both, [], ["c3"]), "Headless. Stale: c3.");
  assert.equal(withRotation(both), "Headless.");
});

test("a message names ten clusters at most", () => {
  const ids = Array.from({ length: 12 }, (_, i) => `c${i}`);
  const message = "A. Stale: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, and 2 more.";
  assert.equal(withRotation("A.", [], ids), message);
});
