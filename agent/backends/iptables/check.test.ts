import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { check } from "./check.ts";
import { Judge, type ListChains } from "./judge.ts";
import { type Believed, type ChainKey, digestOf, type Jump } from "./tables.ts";

const TO_A: Jump = "nat OUTPUT -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-A";
const TO_GUARD: Jump =
  "filter FORWARD -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-GUARD";
const TO_M: Jump = "nat POSTROUTING -m conntrack --ctstate DNAT -j CSP-M";
const BELIEVED: Believed = {
  chains: new Map([
    ["nat CSP-A", digestOf(["-A CSP-A -g CSP-B"])],
    ["nat CSP-M", digestOf([])],
    ["nat CSP-B", digestOf(["-A CSP-B -j RETURN"])],
    ["filter CSP-GUARD", digestOf(["-A CSP-GUARD -j DROP"])],
  ]),
  jumps: [TO_GUARD, TO_A, TO_M],
};
const line = (jump: Jump) => `-A ${jump.slice(jump.indexOf(" ") + 1)}`;
const AS_BELIEVED: Readonly<Record<string, readonly string[]>> = {
  "nat OUTPUT": [line(TO_A)],
  "nat CSP-A": ["-A CSP-A -g CSP-B"],
  "nat POSTROUTING": [line(TO_M)],
  "nat CSP-M": [],
  "filter FORWARD": [line(TO_GUARD)],
  "filter CSP-GUARD": ["-A CSP-GUARD -j DROP"],
};

/** What a look finds in a kernel that holds these chains, and which it has listed. */
async function look(change: Readonly<Record<string, readonly string[] | undefined>>) {
  const kernel = { ...AS_BELIEVED, ...change };
  const listed: ChainKey[] = [];
  const list: ListChains = async (keys, keep) => {
    listed.push(...keys);
    return new Map(keys.map((key) => [key, kernel[key]?.filter(keep)]));
  };
  return { drift: await check(BELIEVED, list, new Judge(list)), listed };
}

describe("a look", () => {
  test("finds nothing where all is as believed, and lists the first level only", async () => {
    const { drift, listed } = await look({});
    assert.deepEqual(drift, []);
    assert.ok(listed.includes("nat CSP-A") && !listed.includes("nat CSP-B"));
  });

  test("finds a jump that is gone, and names nobody where others are left", async () => {
    const { drift } = await look({
      "nat OUTPUT": ["-A OUTPUT -j KUBE-SERVICES"],
    });
    assert.deepEqual(drift, [{ reason: "jump-missing", what: TO_A }]);
  });

  test("finds chains that are gone or hold other rules", async () => {
    const { drift } = await look({ "nat CSP-A": undefined, "filter CSP-GUARD": [] });
    assert.deepEqual(drift, [
      { reason: "chain-changed", what: "filter CSP-GUARD" },
      { reason: "chain-missing", what: "nat CSP-A" },
    ]);
  });

  test("finds a jump too many, in any chain that it looks at", async () => {
    const { drift } = await look({ "nat POSTROUTING": [line(TO_M), "-A POSTROUTING -j CSP-A"] });
    assert.deepEqual(drift, [{ reason: "jump-extra", what: "nat POSTROUTING -j CSP-A" }]);
    const doubled = await look({ "nat OUTPUT": [line(TO_A), line(TO_A)] });
    assert.deepEqual(doubled.drift, [{ reason: "jump-extra", what: TO_A }]);
  });

  test("finds a jump behind another program's, and names it", async () => {
    const rule = "-A FORWARD -i eth0 -j DOCKER-USER";
    const { drift } = await look({
      "filter FORWARD": [rule, line(TO_GUARD)],
      "filter DOCKER-USER": ["-A DOCKER-USER -s 10.0.0.0/8 -j ACCEPT"],
    });
    const suspect = `Docker: ${rule} … -A DOCKER-USER -s 10.0.0.0/8 -j ACCEPT`;
    assert.deepEqual(drift, [{ reason: "jump-behind", what: TO_GUARD, suspect }]);
  });

  test("names who has rules in a table that was flushed, and tells that first", async () => {
    const { drift } = await look({
      "filter FORWARD": [],
      "filter CSP-GUARD": undefined,
      "nat OUTPUT": ["-A OUTPUT -j ufw-x", "-A OUTPUT -j OUTPUT_direct", "-A OUTPUT -j ACCEPT"],
      "nat CSP-A": undefined,
      "nat POSTROUTING": [],
    });
    const suspect = "firewalld, ufw";
    assert.deepEqual(drift, [
      { reason: "chain-missing", what: "nat CSP-A", suspect },
      { reason: "jump-missing", what: TO_A, suspect },
      { reason: "jump-missing", what: TO_M, suspect },
      { reason: "chain-missing", what: "filter CSP-GUARD" },
      { reason: "jump-missing", what: TO_GUARD },
    ]);
  });
});
