import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../api/problem.ts";
import type { LogLine } from "../../common/log.ts";
import type { ImportSummary, PortSummary } from "./summary.ts";
import { problemTransitions, transitions } from "./transitions.ts";

/** A line as `level message name=value …`. */
function told(lines: readonly LogLine[]): string[] {
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

/** What is told when the one port of an import goes from one state to another. */
function portTold(from: PortSummary, to: PortSummary): string[] {
  return told(transitions(summary({ ports: [from] }), summary({ ports: [to] })));
}

test("nothing is told when nothing changed", () => {
  assert.deepEqual(transitions(undefined, undefined), []);
  assert.deepEqual(transitions(summary(), summary()), []);
  const rejecting = summary({ ports: [REJECTS] });
  assert.deepEqual(transitions(rejecting, summary({ ports: [{ ...REJECTS }] })), []);
});

test("an import that appears or goes is one line", () => {
  assert.deepEqual(told(transitions(undefined, summary())), [
    "info Import appeared. import=demo/serve reason=programmed vips=241.0.0.7",
  ]);
  assert.deepEqual(told(transitions(summary(), undefined)), [
    "info Import is gone. import=demo/serve",
  ]);
});

test("an import that appears with a fault says so at once", () => {
  const next = summary({
    vips: [{ address: "241.0.0.7", reason: "vip-conflict", heldBy: "demo/old" }],
    ports: [REJECTS],
  });
  assert.deepEqual(told(transitions(undefined, next)).slice(1), [
    "warn VIP is not used. import=demo/serve vip=241.0.0.7 reason=vip-conflict heldBy=demo/old",
    "warn Port rejects connections. import=demo/serve port=demo/serve:http protocol=TCP family=IPv4 reason=no-endpoint",
  ]);
});

test("an import whose state changes says from what to what", () => {
  const next = summary({ reason: "no-vip", vips: [], ports: [] });
  assert.deepEqual(told(transitions(summary(), next)), [
    "info Import changed state. import=demo/serve from=programmed reason=no-vip",
    "info VIP is gone. import=demo/serve vip=241.0.0.7",
    "info Port is gone. import=demo/serve port=demo/serve:http protocol=TCP family=IPv4",
  ]);
});

test("a VIP that is refused, and one that is taken back into use, are told with the reason", () => {
  const refused = summary({ vips: [{ address: "241.0.0.7", reason: "vip-reserved" }] });
  assert.deepEqual(told(transitions(summary(), refused)), [
    "warn VIP is not used. import=demo/serve vip=241.0.0.7 reason=vip-reserved",
  ]);
  assert.deepEqual(told(transitions(refused, summary())), [
    "info VIP is in use. import=demo/serve vip=241.0.0.7 reason=programmed",
  ]);
});

const PLACE = "import=demo/serve port=demo/serve:http protocol=TCP family=IPv4";

test("a port that moves says from which tier to which, and why", () => {
  assert.deepEqual(portTold(LOCAL, { ...LOCAL, tier: "regional", endpoints: 2 }), [
    `info Port moved to another tier. ${PLACE} tier=regional reason=nearest-ready endpoints=2 from=local`,
  ]);
});

test("a port that begins to reject, and one that recovers, are told", () => {
  assert.deepEqual(portTold(LOCAL, REJECTS), [
    "warn Port rejects connections. import=demo/serve from=local port=demo/serve:http protocol=TCP family=IPv4 reason=no-endpoint",
  ]);
  assert.deepEqual(portTold(REJECTS, LOCAL), [
    `info Port takes connections again. ${PLACE} tier=local reason=nearest-ready endpoints=3`,
  ]);
});

test("a port that rejects says why the endpoints that it has are out, and again when that is another reason", () => {
  const misnamed: PortSummary = { ...REJECTS, excluded: ["not-ready", "port-not-exposed"] };
  assert.deepEqual(portTold(REJECTS, misnamed), [
    `warn Port rejects connections. ${PLACE} reason=no-endpoint excluded=not-ready,port-not-exposed`,
  ]);
  assert.deepEqual(portTold(misnamed, { ...misnamed }), []);
  assert.deepEqual(portTold(misnamed, { ...misnamed, excluded: ["port-not-exposed"] }), [
    `warn Port rejects connections. ${PLACE} reason=no-endpoint excluded=port-not-exposed`,
  ]);
});

test("a port that stays in its tier for another reason is told", () => {
  assert.deepEqual(portTold(LOCAL, { ...LOCAL, reason: "nearest-serving" }), [
    `info Port keeps its tier for another reason. ${PLACE} tier=local reason=nearest-serving endpoints=3`,
  ]);
});

test("an endpoint more or less in the same tier is for debugging only", () => {
  assert.deepEqual(portTold(LOCAL, { ...LOCAL, endpoints: 2 }), [
    `debug Port has other endpoints. ${PLACE} tier=local reason=nearest-ready endpoints=2 had=3`,
  ]);
});

test("ports are told apart by protocol and family", () => {
  const udp: PortSummary = { ...LOCAL, protocol: "UDP" };
  const v6: PortSummary = { ...LOCAL, family: "IPv6" };
  const lines = told(
    transitions(
      summary({ ports: [LOCAL, udp] }),
      summary({ ports: [LOCAL, { ...v6, tier: "global" }] }),
    ),
  );
  assert.deepEqual(lines, [
    "info Port appeared. import=demo/serve port=demo/serve:http protocol=TCP family=IPv6 tier=global reason=nearest-ready endpoints=3",
    "info Port is gone. import=demo/serve port=demo/serve:http protocol=UDP family=IPv4",
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

test("a refused part is told when it is first seen and when it is gone, not in between", () => {
  const [one, two] = [problem("endpoints[0]"), problem("endpoints[1]")];
  assert.deepEqual(told(problemTransitions([], [one])), [
    'warn Refused. reason=loopback-address object=EndpointSlice demo/x field=endpoints[0] value="127.0.0.1"',
  ]);
  assert.deepEqual(problemTransitions([one], [{ ...one }]), []);
  assert.deepEqual(told(problemTransitions([one, two], [two])), [
    "info No longer refused. object=EndpointSlice demo/x field=endpoints[0] was=loopback-address",
  ]);
});

test("an object with a thousand faults is told in a few lines", () => {
  const many = Array.from({ length: 1000 }, (_each, i) => problem(`endpoints[${i}]`));
  assert.equal(problemTransitions([], many).length, 6);
  assert.equal(
    told(problemTransitions([], many)).at(-1),
    "warn Refused, and more of the same object. object=EndpointSlice demo/x more=995",
  );
  assert.equal(
    told(problemTransitions(many, [])).at(-1),
    "info No longer refused, nor more of the same object. object=EndpointSlice demo/x more=995",
  );
});
