import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import {
  type EntryChanges,
  entry,
  RANGE,
  tcpService as tcp,
  udpService as udp,
  VIP,
} from "../../test/doubles/fake-conntrack.ts";
import { cidr } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { EndpointRemoval } from "./endpoint-removal.ts";
import { programmedPort } from "./programmed-port.ts";
import { ProgrammedState } from "./programmed-state.ts";
import { StaleCheck } from "./stale-check.ts";

const A = "10.1.0.11";
const B = "10.1.0.12";
const HTTP = `${VIP}:80`;
const TCP = { protocol: "TCP", to: HTTP, tcp: "ESTABLISHED" } as const;
const UNANSWERED = { ...TCP, replied: false, tcp: "SYN_SENT" } as const;

type Proposal = readonly (readonly [ObjectKey, readonly VirtualService[]])[];

function propose(state: ProgrammedState, proposal: Proposal): void {
  for (const [key, services] of proposal) state.propose(key, services.map(programmedPort));
}

/** The removal has expired, too. */
function accept(state: ProgrammedState, proposal: Proposal, complete: boolean): void {
  propose(state, proposal);
  const { removal } = state.accept(complete);
  if (removal !== undefined) state.removals.expire(removal);
}

function reasonFor(services: readonly VirtualService[], changes: EntryChanges) {
  const state = new ProgrammedState([RANGE]);
  accept(state, [["demo/serve", services]], true);
  return new StaleCheck(state).reasonFor(entry(changes));
}

const UDP_A = { at: `${A}:5353` };
const UDP_B = { at: `${B}:5353` };
const TCP_B = { ...TCP, at: `${B}:8080` };
const TRIES_B = { ...UNANSWERED, at: `${B}:8080` };

/** The services of the import, an entry, and why it is deleted. */
type Case = readonly [readonly VirtualService[], EntryChanges, string];

const CASES: Readonly<Record<string, Case>> = {
  "UDP to an endpoint that takes traffic": [[udp([A, B])], UDP_B, "kept"],
  "UDP to an endpoint that takes none": [[udp([A])], UDP_B, "endpoint-left"],
  "UDP to a ready endpoint of another tier": [[udp([A], { keeps: [`${B}:5353`] })], UDP_B, "kept"],
  "UDP to another port of an endpoint": [[udp([A])], { at: `${A}:53` }, "endpoint-left"],
  "UDP without any endpoint": [[udp([])], UDP_A, "endpoint-left"],
  "UDP that was not translated": [[udp([A])], {}, "vip-live"],
  "UDP to an endpoint at the VIP's own address, translated to another port": [
    [udp([VIP])],
    { at: `${VIP}:5353` },
    "kept",
  ],
  "UDP to a ClusterSetIP without an import": [[], UDP_A, "vip-gone"],
  "UDP to a port that the import does not have": [
    [udp([A])],
    { to: `${VIP}:54`, at: `${A}:5353` },
    "vip-gone",
  ],
  "half-open TCP to a port that only UDP has": [
    [udp([A])],
    { protocol: "TCP", replied: false, tcp: "SYN_SENT" },
    "vip-gone",
  ],
  "UDP to a foreign Service": [[udp([A])], { to: "10.96.0.10:53", at: `${B}:5353` }, "kept"],
  "UDP to a pod": [[udp([A])], { to: `${B}:5353` }, "kept"],
  "TCP to a removed endpoint, without the annotation": [[tcp([A])], TCP_B, "kept"],
  "TCP to an endpoint in no slice, with the annotation": [[tcp([A], [A])], TCP_B, "endpoint-gone"],
  "unanswered TCP to an endpoint in no slice, with the annotation": [
    [tcp([A], [A])],
    { ...TCP_B, replied: false, tcp: "SYN_SENT" },
    "unanswered",
  ],
  "TCP without any endpoint, with the annotation": [[tcp([], [])], TCP_B, "endpoint-gone"],
  "TCP to an endpoint in a slice that takes no traffic, with the annotation": [
    [tcp([A], [A, B])],
    TCP_B,
    "kept",
  ],
  "TCP that has ended, with the annotation": [
    [tcp([A], [A])],
    { ...TCP_B, tcp: "TIME_WAIT" },
    "kept",
  ],
  "unanswered TCP to an endpoint that takes connections": [[tcp([A, B])], TRIES_B, "kept"],
  "unanswered TCP to an endpoint in a slice that takes none": [
    [tcp([A], [A, B])],
    TRIES_B,
    "unanswered",
  ],
  "unanswered TCP without any endpoint": [[tcp([])], TRIES_B, "unanswered"],
  "unanswered TCP whose import is deleted": [[], TRIES_B, "unanswered"],
  "a TCP handshake with a removed endpoint": [
    [tcp([A])],
    { ...TRIES_B, replied: true, tcp: "SYN_RECV" },
    "kept",
  ],
  "TCP with a reply that opened no connection": [[tcp([A])], { ...TRIES_B, replied: true }, "kept"],
  "unanswered TCP to a foreign Service": [
    [tcp([A])],
    { ...UNANSWERED, to: "10.96.0.10:80", at: `${B}:8080` },
    "kept",
  ],
  "established TCP whose import is deleted": [[], TCP_B, "kept"],
  "unanswered TCP that was not translated": [
    [tcp([A])],
    { ...TCP, replied: false, tcp: "SYN_SENT" },
    "vip-live",
  ],
  "untranslated TCP with a reply that opened no connection": [
    [tcp([A])],
    { ...TCP, replied: true, tcp: "SYN_SENT" },
    "vip-live",
  ],
  "established TCP that was not translated": [[tcp([A], [A])], TCP, "kept"],
  "SCTP to a removed endpoint": [
    [tcp([A], undefined, { protocol: "SCTP" })],
    { protocol: "SCTP", to: HTTP, at: `${B}:8080` },
    "kept",
  ],
  "unanswered SCTP that was not translated": [
    [tcp([A], undefined, { protocol: "SCTP" })],
    { protocol: "SCTP", to: HTTP, replied: false },
    "vip-live",
  ],
};

describe("StaleCheck:", () => {
  for (const [name, [services, changes, reason]] of Object.entries(CASES)) {
    test(`${name}: ${reason}`, () => assert.equal(reasonFor(services, changes) ?? "kept", reason));
  }
});

test("vip-gone is not reported before the first complete pass", () => {
  const state = new ProgrammedState([RANGE]);
  accept(state, [["demo/serve", [udp([A])]]], false);
  const reason = (changes: EntryChanges) => new StaleCheck(state).reasonFor(entry(changes));
  assert.equal(reason({ at: `${B}:5353` }), "endpoint-left");
  const unknown = { to: "241.0.0.99:53", at: `${B}:5353` };
  assert.equal(reason(unknown), undefined);
  accept(state, [["demo/serve", [udp([A])]]], true);
  assert.equal(reason(unknown), "vip-gone");
});

test("a released explicit VIP stays known until its translated entries are deleted", () => {
  const state = new ProgrammedState([RANGE]);
  const vip = "198.51.100.7";
  const port = { to: `${vip}:53` };
  const translated = entry({ ...port, at: `${A}:5353` });
  const reason = (one: ReturnType<typeof entry>) => new StaleCheck(state).reasonFor(one);
  assert.equal(reason(translated), undefined, "not ours yet");
  accept(state, [["demo/serve", [udp([A], { vips: [vip] })]]], true);
  accept(state, [["demo/serve", []]], false);
  assert.equal(reason(translated), "vip-gone");
  assert.equal(reason(entry(port)), undefined, "a host may answer there");
  assert.equal(reason(entry({ to: `${vip}:54`, at: `${A}:5353` })), undefined, "another port");
  const released = state.released();
  accept(state, [["demo/serve", [udp([A], { vips: [vip] })]]], false);
  accept(state, [], true);
  state.forget(released);
  assert.equal(reason(translated), "vip-gone", "released again since");
  state.forget(state.released());
  assert.equal(reason(translated), undefined);
});

test("an explicit VIP that an earlier process programmed is released, unless its rules are kept", () => {
  const vips = ["198.51.100.7"];
  const destination = "c6336407 UDP 53";
  const reason = (keeps: boolean) => {
    const state = new ProgrammedState([RANGE]);
    state.found([destination]);
    if (keeps) state.keep([programmedPort(udp([A], { vips }))]);
    accept(state, [], false);
    return new StaleCheck(state).reasonFor(entry({ to: "198.51.100.7:53", at: `${A}:5353` }));
  };
  assert.deepEqual([reason(false), reason(true)], ["vip-gone", undefined]);
});

describe("while a transaction is under way", () => {
  const reasonsOf = (state: ProgrammedState, ...changes: readonly EntryChanges[]) =>
    changes.map((one) => new StaleCheck(state).reasonFor(entry(one)));

  test("entries to endpoints that it adds or removes are kept", () => {
    const state = new ProgrammedState([RANGE]);
    accept(state, [["demo/serve", [tcp([A]), udp([A])]]], true);
    const tries = [A, B, "10.1.0.13"].map((at) => ({ ...UNANSWERED, at: `${at}:8080` }));
    const all = [...tries, UDP_A, UDP_B];
    const before = [undefined, "unanswered", "unanswered", undefined, "endpoint-left"];
    assert.deepEqual(reasonsOf(state, ...all), before);
    propose(state, [["demo/serve", [tcp([B]), udp([B])]]]);
    const meanwhile = [undefined, undefined, "unanswered", undefined, undefined];
    assert.deepEqual(reasonsOf(state, ...all), meanwhile);
    accept(state, [], false);
    const after = ["unanswered", undefined, "unanswered", "endpoint-left", undefined];
    assert.deepEqual(reasonsOf(state, ...all), after);
  });

  test("a connection to an endpoint that it lists again is kept", () => {
    const state = new ProgrammedState([RANGE]);
    accept(state, [["demo/serve", [tcp([A], [A])]]], true);
    assert.deepEqual(reasonsOf(state, TCP_B), ["endpoint-gone"]);
    propose(state, [["demo/serve", [tcp([A], [A, B])]]]);
    assert.deepEqual(reasonsOf(state, TCP_B), [undefined]);
  });

  test("an entry to a VIP that it adds is kept", () => {
    const state = new ProgrammedState([RANGE]);
    accept(state, [], true);
    assert.deepEqual(reasonsOf(state, UDP_A), ["vip-gone"]);
    propose(state, [["demo/serve", [udp([A])]]]);
    assert.deepEqual(reasonsOf(state, UDP_A), [undefined]);
  });

  test("if it fails, its endpoints count as live until the next one is accepted", () => {
    const state = new ProgrammedState([RANGE]);
    accept(state, [["demo/serve", [udp([A])]]], true);
    propose(state, [["demo/serve", [udp([B])]]]);
    state.fail();
    assert.deepEqual(reasonsOf(state, UDP_A, UDP_B), [undefined, undefined]);
    propose(state, [["demo/serve", [udp([A])]]]);
    assert.deepEqual(reasonsOf(state, UDP_A, UDP_B), [undefined, undefined]);
    accept(state, [], true);
    assert.deepEqual(reasonsOf(state, UDP_A, UDP_B), [undefined, "endpoint-left"]);
  });
});

test("UDP to an address without an import is stale in each of two ranges, and in no other", () => {
  const state = new ProgrammedState([cidr("242.0.0.0/8"), RANGE]);
  accept(state, [], true);
  const check = new StaleCheck(state);
  const reasons = ["241.0.0.9", "242.0.0.9", "243.0.0.9"].map((vip) =>
    check.reasonFor(entry({ ...UDP_A, to: `${vip}:53` })),
  );
  assert.deepEqual(reasons, ["vip-gone", "vip-gone", undefined]);
});

test("an endpoint that is removed during a scan may still answer", () => {
  const state = new ProgrammedState([RANGE]);
  accept(state, [["demo/serve", [tcp([A, B])]]], true);
  const check = new StaleCheck(state);
  assert.equal(check.reasonFor(entry({ ...UNANSWERED, at: "10.1.0.13:8080" })), "unanswered");
  propose(state, [["demo/serve", [tcp([B])]]]);
  state.accept(false);
  assert.equal(check.reasonFor(entry({ ...UNANSWERED, at: `${A}:8080` })), undefined);
});

const pods = fc.subarray([A, B, "10.1.0.13"]);
const services = fc.record({ udp: fc.option(pods), tcp: fc.option(pods), keeps: fc.option(pods) });
type Pods = readonly string[] | null;
interface World {
  readonly imports: Readonly<Record<string, { udp: Pods; tcp: Pods; keeps: Pods }>>;
  /** The two imports have exchanged their VIPs. */
  readonly swapped: boolean;
  readonly complete: boolean;
}
const world: fc.Arbitrary<World> = fc.record({
  imports: fc.dictionary(fc.constantFrom("demo/a", "demo/b"), services),
  ...{ swapped: fc.boolean(), complete: fc.boolean() },
});
const anyEntry = fc.record({
  to: fc.constantFrom(
    "241.0.0.1:53",
    "241.0.0.2:53",
    "241.0.0.1:80",
    "241.0.0.2:80",
    "10.96.0.1:53",
  ),
  at: fc.option(fc.constantFrom(A, B, "10.1.0.13"), { nil: undefined }),
  protocol: fc.constantFrom("UDP" as const, "TCP" as const),
  replied: fc.boolean(),
  tcp: fc.constantFrom("SYN_SENT" as const, "ESTABLISHED" as const),
});

test("after any history, the reasons are those of a process that has just started", async () => {
  const proposal = ({ imports, swapped }: World): Proposal =>
    (["demo/a", "demo/b"] as const).map((key, i) => {
      const { udp: datagrams, tcp: connections, keeps } = imports[key] ?? {};
      const ready = keeps && { keeps: keeps.map((address) => `${address}:5353`) };
      const at = { importKey: key, vips: [`241.0.0.${(i === 0) === swapped ? 2 : 1}`] };
      const ports = [
        ...(datagrams ? [udp(datagrams, { ...at, ...ready })] : []),
        ...(connections ? [tcp(connections, keeps ?? undefined, at)] : []),
      ];
      return [key, ports];
    });
  await forAll([fc.array(world, { minLength: 1 }), fc.array(anyEntry)], (worlds, changes) => {
    const [old, young] = [new ProgrammedState([RANGE]), new ProgrammedState([RANGE])];
    for (const [i, one] of worlds.entries()) accept(old, proposal(one), i === 0 || one.complete);
    for (const one of worlds.slice(-1)) accept(young, proposal(one), true);
    for (const { at, tcp, ...rest } of changes) {
      const port = rest.protocol === "UDP" ? 5353 : 8080;
      const state = rest.protocol === "TCP" && { tcp };
      const one = entry({ ...rest, ...state, ...(at && { at: `${at}:${port}` }) });
      const reason = new StaleCheck(old).reasonFor(one);
      assert.equal(reason, new StaleCheck(young).reasonFor(one));
      if (rest.to.startsWith("10.")) assert.equal(reason, undefined);
    }
  });
});

/** These services of `demo/serve` are live; `complete`: and no others. Returns the removal. */
function change(
  state: ProgrammedState,
  services: readonly VirtualService[],
  complete = false,
): EndpointRemoval | undefined {
  state.propose("demo/serve", services.map(programmedPort));
  return state.accept(complete).removal;
}

/** Why unanswered entries to these endpoints are deleted. */
function triesOf(state: ProgrammedState, ...addresses: readonly string[]) {
  const check = new StaleCheck(state);
  return addresses.map((at) => check.reasonFor(entry({ ...UNANSWERED, at: `${at}:8080` })));
}

function expire(state: ProgrammedState, removal: EndpointRemoval | undefined): void {
  assert.ok(removal);
  state.removals.expire(removal);
}

test("entries to a removed endpoint do not count as unanswered until the removal expires", () => {
  const state = new ProgrammedState([RANGE]);
  const reasons = () => triesOf(state, A, B);
  const start = change(state, [tcp([A])], true);
  assert.deepEqual(reasons(), [undefined, undefined], "earlier endpoints are unknown");
  expire(state, start);
  assert.deepEqual(reasons(), [undefined, "unanswered"]);
  assert.equal(change(state, [tcp([A, B])]), undefined, "an endpoint was added");
  const first = change(state, [tcp([A])]);
  const second = change(state, []);
  assert.deepEqual(reasons(), [undefined, undefined]);
  expire(state, first);
  assert.deepEqual(reasons(), [undefined, "unanswered"]);
  expire(state, second);
  assert.deepEqual(reasons(), ["unanswered", "unanswered"]);
});

test("before the first complete pass, entries to unknown endpoints are kept until the removal expires", () => {
  const state = new ProgrammedState([RANGE]);
  const removal = change(state, [tcp([A])]);
  assert.deepEqual(triesOf(state, B), [undefined]);
  expire(state, removal);
  assert.deepEqual(triesOf(state, B), ["unanswered"]);
});

for (const complete of [false, true]) {
  const pass = complete ? "a complete pass" : "a change";
  test(`an explicit VIP released by ${pass} stays known until its removed endpoints can answer no more`, () => {
    const state = new ProgrammedState([RANGE]);
    const vips = ["198.51.100.7"];
    const reason = () =>
      new StaleCheck(state).reasonFor(
        entry({ ...UNANSWERED, to: "198.51.100.7:80", at: `${A}:8080` }),
      );
    expire(state, change(state, [tcp([A], undefined, { vips })], true));
    const removal = change(state, [], complete);
    state.forget(state.released());
    expire(state, removal);
    assert.equal(reason(), "unanswered");
    state.forget(state.released());
    assert.equal(reason(), undefined, "no longer ours");
  });
}

test("entries to an endpoint that was found silent are unanswered at once, and are looked for again later", () => {
  const state = new ProgrammedState([RANGE]);
  const reasons = () => triesOf(state, A, B);
  expire(state, change(state, [tcp([A, B])], true));
  const services = [tcp([B], undefined, { unanswering: [`${A}:8080`] })];
  state.propose("demo/serve", services.map(programmedPort));
  const { stale, removal } = state.accept(false);
  assert.deepEqual(stale, {
    protocols: new Set(["TCP"]),
    unanswered: true,
    vips: removal?.scope.vips,
  });
  assert.deepEqual(reasons(), ["unanswered", undefined]);
});
