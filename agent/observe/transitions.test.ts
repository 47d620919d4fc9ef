import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../api/problem.ts";
import type { LogLine } from "../../common/log.ts";
import { type Finding, failing, ok, unknown } from "../preflight/finding.ts";
import { findingTransitions } from "./observer.ts";
import type { ImportSummary, PortSummary } from "./summary.ts";
import { problemTransitions, transitions } from "./transitions.ts";

/** A line as `level message name=value …`. */
function texts(lines: readonly LogLine[]): string[] {
  return lines.map(({ level, message, fields }) => {
    const words = Object.entries(fields).map(([name, value]) => ` ${name}=${String(value)}`);
    return `${level} ${message}${words.join("")}`;
  });
}

const LOCAL: PortSummary = {
  name: "demo/serve:http",
  protocol: "TCP",
  family: "IPv4",
  tier: "local",
  reason: "nearest-ready",
  endpoints: 3,
};
const { tier: _, ...TIERLESS } = LOCAL;
const REJECTS: PortSummary = { ...TIERLESS, reason: "no-endpoint", endpoints: 0 };

function summary(some: Partial<ImportSummary> = {}): ImportSummary {
  return {
    importKey: "demo/serve",
    reason: "programmed",
    vips: [{ address: "241.0.0.7", reason: "programmed" }],
    ports: [LOCAL],
    ...some,
  };
}

/** The lines when the one port of an import goes from one state to another. */
function portTexts(from: PortSummary, to: PortSummary): string[] {
  return texts(transitions(summary({ ports: [from] }), summary({ ports: [to] })));
}

test("nothing is logged when nothing changed", () => {
  assert.deepEqual(transitions(undefined, undefined), []);
  assert.deepEqual(transitions(summary(), summary()), []);
  const rejecting = summary({ ports: [REJECTS] });
  assert.deepEqual(transitions(rejecting, summary({ ports: [{ ...REJECTS }] })), []);
});

test("an import that is added or removed is one line", () => {
  assert.deepEqual(texts(transitions(undefined, summary())), [
    "info Import was added import=demo/serve reason=programmed vips=241.0.0.7",
  ]);
  assert.deepEqual(texts(transitions(summary(), undefined)), [
    "info Import was removed import=demo/serve",
  ]);
});

test("the faults of a new import are logged with it", () => {
  const next = summary({
    vips: [{ address: "241.0.0.7", reason: "vip-conflict", heldBy: "demo/old" }],
    ports: [REJECTS],
  });
  assert.deepEqual(texts(transitions(undefined, next)).slice(1), [
    "warn VIP is not used import=demo/serve vip=241.0.0.7 reason=vip-conflict heldBy=demo/old",
    "warn Port rejects connections import=demo/serve port=demo/serve:http protocol=TCP family=IPv4 reason=no-endpoint",
  ]);
});

test("an import whose state changes is logged with the old and the new state", () => {
  const next = summary({ reason: "no-vip", vips: [], ports: [] });
  assert.deepEqual(texts(transitions(summary(), next)), [
    "info Import changed state import=demo/serve from=programmed reason=no-vip",
    "info VIP was removed import=demo/serve vip=241.0.0.7",
    "info Port was removed import=demo/serve port=demo/serve:http protocol=TCP family=IPv4",
  ]);
});

test("an import that exceeds a limit is logged once, and again when it no longer does", () => {
  const over = (slices: number) => summary({ limited: { reason: "namespace-limit", slices } });
  assert.deepEqual(texts(transitions(summary(), over(3))), [
    "warn Import exceeds a limit; leaving out endpoints import=demo/serve reason=namespace-limit slices=3",
  ]);
  assert.deepEqual(texts(transitions(undefined, over(3))).slice(1), [
    "warn Import exceeds a limit; leaving out endpoints import=demo/serve reason=namespace-limit slices=3",
  ]);
  assert.deepEqual(texts(transitions(over(3), over(4))), []);
  assert.deepEqual(texts(transitions(over(3), summary())), [
    "info Import is within its limits again import=demo/serve was=namespace-limit",
  ]);
});

test("a VIP that is rejected, and one that is used again, are logged with the reason", () => {
  const refused = summary({ vips: [{ address: "241.0.0.7", reason: "vip-reserved" }] });
  assert.deepEqual(texts(transitions(summary(), refused)), [
    "warn VIP is not used import=demo/serve vip=241.0.0.7 reason=vip-reserved",
  ]);
  assert.deepEqual(texts(transitions(refused, summary())), [
    "info VIP is in use import=demo/serve vip=241.0.0.7 reason=programmed",
  ]);
});

const PLACE = "import=demo/serve port=demo/serve:http protocol=TCP family=IPv4";

test("a port that moves is logged with both tiers and the reason", () => {
  assert.deepEqual(portTexts(LOCAL, { ...LOCAL, tier: "regional", endpoints: 2 }), [
    `info Port moved to another tier ${PLACE} tier=regional reason=nearest-ready endpoints=2 from=local`,
  ]);
});

test("a port that starts to reject connections, and one that recovers, are logged", () => {
  assert.deepEqual(portTexts(LOCAL, REJECTS), [
    "warn Port rejects connections import=demo/serve from=local port=demo/serve:http protocol=TCP family=IPv4 reason=no-endpoint",
  ]);
  assert.deepEqual(portTexts(REJECTS, LOCAL), [
    `info Port accepts connections again ${PLACE} tier=local reason=nearest-ready endpoints=3`,
  ]);
});

test("a port that rejects connections is logged with the reasons of its excluded endpoints, and again when they change", () => {
  const misnamed: PortSummary = { ...REJECTS, excluded: ["not-ready", "port-not-exposed"] };
  assert.deepEqual(portTexts(REJECTS, misnamed), [
    `warn Port rejects connections ${PLACE} reason=no-endpoint excluded=not-ready,port-not-exposed`,
  ]);
  assert.deepEqual(portTexts(misnamed, { ...misnamed }), []);
  assert.deepEqual(portTexts(misnamed, { ...misnamed, excluded: ["port-not-exposed"] }), [
    `warn Port rejects connections ${PLACE} reason=no-endpoint excluded=port-not-exposed`,
  ]);
});

test("a port that stays in its tier for another reason is logged", () => {
  assert.deepEqual(portTexts(LOCAL, { ...LOCAL, reason: "nearest-serving" }), [
    `info Port changed its reason, not its tier ${PLACE} tier=local reason=nearest-serving endpoints=3`,
  ]);
});

test("an endpoint more or less in the same tier is logged for debugging only", () => {
  assert.deepEqual(portTexts(LOCAL, { ...LOCAL, endpoints: 2 }), [
    `debug Port changed its endpoints ${PLACE} tier=local reason=nearest-ready endpoints=2 had=3`,
  ]);
});

test("ports are distinguished by protocol and family", () => {
  const udp: PortSummary = { ...LOCAL, protocol: "UDP" };
  const v6: PortSummary = { ...LOCAL, family: "IPv6" };
  const lines = texts(
    transitions(
      summary({ ports: [LOCAL, udp] }),
      summary({ ports: [LOCAL, { ...v6, tier: "global" }] }),
    ),
  );
  assert.deepEqual(lines, [
    "info Port was added import=demo/serve port=demo/serve:http protocol=TCP family=IPv6 tier=global reason=nearest-ready endpoints=3",
    "info Port was removed import=demo/serve port=demo/serve:http protocol=UDP family=IPv4",
  ]);
});

function problem(field: string): Problem {
  return {
    reason: "loopback-address",
    object: "EndpointSlice demo/x",
    field,
    value: '"127.0.0.1"',
  };
}

test("a rejected part is logged when it is first seen and when it is gone, not in between", () => {
  const [one, two] = [problem("endpoints[0]"), problem("endpoints[1]")];
  assert.deepEqual(texts(problemTransitions([], [one])), [
    'warn Rejected part of an object reason=loopback-address object=EndpointSlice demo/x field=endpoints[0] value="127.0.0.1"',
  ]);
  assert.deepEqual(problemTransitions([one], [{ ...one }]), []);
  assert.deepEqual(texts(problemTransitions([one, two], [two])), [
    "info Part of an object is no longer rejected object=EndpointSlice demo/x field=endpoints[0] was=loopback-address",
  ]);
});

test("an object with a thousand faults is logged in a few lines", () => {
  const many = Array.from({ length: 1000 }, (_each, i) => problem(`endpoints[${i}]`));
  assert.equal(problemTransitions([], many).length, 6);
  assert.equal(
    texts(problemTransitions([], many)).at(-1),
    "warn Rejected more parts of the object object=EndpointSlice demo/x more=995",
  );
  assert.equal(
    texts(problemTransitions(many, [])).at(-1),
    "info More parts of the object are no longer rejected object=EndpointSlice demo/x more=995",
  );
});

const ROUTE = { check: "route", family: "IPv4" } as const;
const BAD = failing(ROUTE, "no-route", "Add a route.");

function lines(previous: readonly Finding[], next: readonly Finding[]): string[] {
  return findingTransitions(previous, next).map(({ level, message }) => `${level} ${message}`);
}

test("a finding is logged once, with its reason and advice", () => {
  assert.deepEqual(findingTransitions([], [BAD]), [
    {
      level: "warn",
      message: "Preflight check failed",
      fields: { ...ROUTE, reason: "no-route", advice: "Add a route." },
    },
  ]);
  assert.deepEqual(lines([BAD], [BAD]), []);
  assert.deepEqual(lines([BAD], [{ ...BAD, advice: "Other numbers." }]), []);
});

test("a new reason is logged, and so is that the check passes again", () => {
  assert.deepEqual(lines([BAD], [failing(ROUTE, "wrong-source", "x")]), [
    "warn Preflight check failed",
  ]);
  assert.deepEqual(findingTransitions([BAD], [ok(ROUTE)]), [
    {
      level: "info",
      message: "Preflight check passes again",
      fields: { ...ROUTE, was: "no-route" },
    },
  ]);
  assert.deepEqual(lines([BAD], [unknown(ROUTE, "x")]), [
    "info Preflight check result became unknown",
  ]);
});

test("a check that passes from the start is not logged; one that did not run is logged for debugging", () => {
  assert.deepEqual(lines([], [ok(ROUTE)]), []);
  assert.deepEqual(lines([], [unknown(ROUTE, "x")]), ["debug Preflight check result is unknown"]);
  assert.deepEqual(lines([unknown(ROUTE, "x")], [ok(ROUTE)]), []);
  const suspected: Finding = { ...unknown(ROUTE, "x"), reason: "bypass-suspected" };
  assert.deepEqual(lines([], [suspected]), ["info Preflight check result is unknown"]);
});

test("families have findings of their own", () => {
  const six: Finding = { ...BAD, family: "IPv6" };
  assert.equal(findingTransitions([BAD], [BAD, six])[0]?.fields.family, "IPv6");
});
