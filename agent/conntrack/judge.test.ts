import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import {
  type EntryChanges,
  entry,
  RANGE,
  tcpService,
  udpService,
  VIP,
} from "../../test/support/fake-conntrack.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { Judge } from "./judge.ts";
import { targetOf } from "./target.ts";
import { Targets } from "./targets.ts";

const A = "10.1.0.11";
const B = "10.1.0.12";
const HTTP = `${VIP}:80`;
const TCP = { protocol: "TCP", to: HTTP, tcp: "ESTABLISHED" } as const;
const TRY = { ...TCP, replied: false, tcp: "SYN_SENT" } as const;

type Proposal = readonly (readonly [ObjectKey, readonly VirtualService[]])[];

function propose(targets: Targets, proposal: Proposal): void {
  for (const [key, services] of proposal) targets.propose(key, services.map(targetOf));
}

/** With time enough after it that nobody may answer any more who has left. */
function accept(targets: Targets, proposal: Proposal, complete: boolean): void {
  propose(targets, proposal);
  const { departure } = targets.accept(complete);
  if (departure !== undefined) targets.departures.settle(departure);
}

function judged(services: readonly VirtualService[], changes: EntryChanges) {
  const targets = new Targets(RANGE);
  accept(targets, [["demo/serve", services]], true);
  return new Judge(targets).verdict(entry(changes));
}

const CASES: readonly {
  readonly name: string;
  readonly services: readonly VirtualService[];
  readonly entry: EntryChanges;
  readonly verdict: string | undefined;
}[] = [
  {
    name: "UDP to an endpoint that takes the traffic",
    services: [udpService([A, B])],
    entry: { at: `${B}:5353` },
    verdict: undefined,
  },
  {
    name: "UDP to an endpoint that does not",
    services: [udpService([A])],
    entry: { at: `${B}:5353` },
    verdict: "endpoint-left",
  },
  {
    name: "UDP to another port of an endpoint that takes the traffic",
    services: [udpService([A])],
    entry: { at: `${A}:53` },
    verdict: "endpoint-left",
  },
  {
    name: "UDP when no endpoint is left",
    services: [udpService([])],
    entry: { at: `${A}:5353` },
    verdict: "endpoint-left",
  },
  {
    name: "UDP that was never translated, answered or not",
    services: [udpService([A])],
    entry: {},
    verdict: "vip-live",
  },
  {
    name: "UDP to an endpoint at the VIP's own address, translated to another port",
    services: [udpService([VIP])],
    entry: { at: `${VIP}:5353` },
    verdict: undefined,
  },
  {
    name: "UDP to a ClusterSetIP that no import has",
    services: [],
    entry: { at: `${A}:5353` },
    verdict: "vip-gone",
  },
  {
    name: "UDP to a port that its import does not have",
    services: [udpService([A])],
    entry: { to: `${VIP}:54`, at: `${A}:5353` },
    verdict: "vip-gone",
  },
  {
    name: "TCP to a port that only UDP has, half open",
    services: [udpService([A])],
    entry: { protocol: "TCP", replied: false, tcp: "SYN_SENT" },
    verdict: "vip-gone",
  },
  {
    name: "UDP of somebody else's Service",
    services: [udpService([A])],
    entry: { to: "10.96.0.10:53", at: `${B}:5353` },
    verdict: undefined,
  },
  {
    name: "UDP to a pod",
    services: [udpService([A])],
    entry: { to: `${B}:5353` },
    verdict: undefined,
  },
  {
    name: "TCP to an endpoint that left, without the annotation",
    services: [tcpService([A])],
    entry: { ...TCP, at: `${B}:8080` },
    verdict: undefined,
  },
  {
    name: "TCP to an endpoint that no slice lists, with the annotation",
    services: [tcpService([A], [A])],
    entry: { ...TCP, at: `${B}:8080` },
    verdict: "endpoint-gone",
  },
  {
    name: "the same while it is still waiting for an answer",
    services: [tcpService([A], [A])],
    entry: { ...TCP, at: `${B}:8080`, replied: false, tcp: "SYN_SENT" },
    verdict: "unanswered",
  },
  {
    name: "the same when no endpoint is left",
    services: [tcpService([], [])],
    entry: { ...TCP, at: `${B}:8080` },
    verdict: "endpoint-gone",
  },
  {
    name: "TCP to an endpoint that is listed and takes nothing, with the annotation",
    services: [tcpService([A], [A, B])],
    entry: { ...TCP, at: `${B}:8080` },
    verdict: undefined,
  },
  {
    name: "TCP that has ended, with the annotation",
    services: [tcpService([A], [A])],
    entry: { ...TCP, at: `${B}:8080`, tcp: "TIME_WAIT" },
    verdict: undefined,
  },
  {
    name: "a try of TCP to an endpoint that takes connections",
    services: [tcpService([A, B])],
    entry: { ...TRY, at: `${B}:8080` },
    verdict: undefined,
  },
  {
    name: "a try of TCP to an endpoint that is listed and takes none",
    services: [tcpService([A], [A, B])],
    entry: { ...TRY, at: `${B}:8080` },
    verdict: "unanswered",
  },
  {
    name: "a try of TCP when no endpoint is left",
    services: [tcpService([])],
    entry: { ...TRY, at: `${B}:8080` },
    verdict: "unanswered",
  },
  {
    name: "a try of TCP whose import is gone",
    services: [],
    entry: { ...TRY, at: `${B}:8080` },
    verdict: "unanswered",
  },
  {
    name: "a handshake of TCP with an endpoint that left",
    services: [tcpService([A])],
    entry: { ...TRY, at: `${B}:8080`, replied: true, tcp: "SYN_RECV" },
    verdict: undefined,
  },
  {
    name: "a try of TCP that was answered with what opened nothing",
    services: [tcpService([A])],
    entry: { ...TRY, at: `${B}:8080`, replied: true },
    verdict: undefined,
  },
  {
    name: "a try of TCP to a pod",
    services: [tcpService([A])],
    entry: { ...TRY, to: "10.96.0.10:80", at: `${B}:8080` },
    verdict: undefined,
  },
  {
    name: "TCP whose import is gone",
    services: [],
    entry: { ...TCP, at: `${B}:8080` },
    verdict: undefined,
  },
  {
    name: "TCP that was never translated and waits",
    services: [tcpService([A])],
    entry: { ...TCP, replied: false, tcp: "SYN_SENT" },
    verdict: "vip-live",
  },
  {
    name: "the same after an answer that opened nothing",
    services: [tcpService([A])],
    entry: { ...TCP, replied: true, tcp: "SYN_SENT" },
    verdict: "vip-live",
  },
  {
    name: "TCP that was never translated and is answered",
    services: [tcpService([A], [A])],
    entry: TCP,
    verdict: undefined,
  },
  {
    name: "SCTP to an endpoint that left",
    services: [tcpService([A], undefined, { protocol: "SCTP" })],
    entry: { protocol: "SCTP", to: HTTP, at: `${B}:8080` },
    verdict: undefined,
  },
  {
    name: "SCTP that was never translated and waits",
    services: [tcpService([A], undefined, { protocol: "SCTP" })],
    entry: { protocol: "SCTP", to: HTTP, replied: false },
    verdict: "vip-live",
  },
];

describe("the verdict on", () => {
  for (const { name, services, entry: changes, verdict } of CASES) {
    test(`${name}: ${verdict ?? "kept"}`, () => assert.equal(judged(services, changes), verdict));
  }
});

test("nothing is called gone before all that is live was told", () => {
  const targets = new Targets(RANGE);
  accept(targets, [["demo/serve", [udpService([A])]]], false);
  const verdict = (changes: EntryChanges) => new Judge(targets).verdict(entry(changes));
  assert.equal(verdict({ at: `${B}:5353` }), "endpoint-left");
  const unknown = { to: "241.0.0.99:53", at: `${B}:5353` };
  assert.equal(verdict(unknown), undefined);
  accept(targets, [["demo/serve", [udpService([A])]]], true);
  assert.equal(verdict(unknown), "vip-gone");
});

test("an explicit VIP that was given up is looked after until that has been done, and only what was translated", () => {
  const targets = new Targets(RANGE);
  const vip = "198.51.100.7";
  const port = { to: `${vip}:53` };
  const led = entry({ ...port, at: `${A}:5353` });
  const verdict = (one: ReturnType<typeof entry>) => new Judge(targets).verdict(one);
  assert.equal(verdict(led), undefined, "somebody else's until then");
  accept(targets, [["demo/serve", [udpService([A], { vips: [vip] })]]], true);
  accept(targets, [["demo/serve", []]], false);
  assert.equal(verdict(led), "vip-gone");
  assert.equal(verdict(entry(port)), undefined, "its own host answers");
  assert.equal(verdict(entry({ to: `${vip}:54`, at: `${A}:5353` })), undefined, "another port");
  const former = targets.former();
  accept(targets, [["demo/serve", [udpService([A], { vips: [vip] })]]], false);
  accept(targets, [], true);
  targets.forget(former);
  assert.equal(verdict(led), "vip-gone", "given up again since");
  targets.forget(targets.former());
  assert.equal(verdict(led), undefined);
});

describe("while a transaction is being made", () => {
  const [UDP_A, UDP_B] = [{ at: `${A}:5353` }, { at: `${B}:5353` }];
  const verdictsOf = (targets: Targets, ...changes: readonly EntryChanges[]) =>
    changes.map((one) => new Judge(targets).verdict(entry(one)));

  test("what leads to whom it is about to bring is right, and to whom it is about to take away still is", () => {
    const targets = new Targets(RANGE);
    accept(targets, [["demo/serve", [tcpService([A]), udpService([A])]]], true);
    const tries = [A, B, "10.1.0.13"].map((at) => ({ ...TRY, at: `${at}:8080` }));
    const all = [...tries, UDP_A, UDP_B];
    const before = [undefined, "unanswered", "unanswered", undefined, "endpoint-left"];
    assert.deepEqual(verdictsOf(targets, ...all), before);
    propose(targets, [["demo/serve", [tcpService([B]), udpService([B])]]]);
    const meanwhile = [undefined, undefined, "unanswered", undefined, undefined];
    assert.deepEqual(verdictsOf(targets, ...all), meanwhile);
    accept(targets, [], false);
    const after = ["unanswered", undefined, "unanswered", "endpoint-left", undefined];
    assert.deepEqual(verdictsOf(targets, ...all), after);
  });

  test("a connection to an endpoint that it lists again is not one to a dead one", () => {
    const targets = new Targets(RANGE);
    accept(targets, [["demo/serve", [tcpService([A], [A])]]], true);
    const stands = { ...TCP, at: `${B}:8080` };
    assert.deepEqual(verdictsOf(targets, stands), ["endpoint-gone"]);
    propose(targets, [["demo/serve", [tcpService([A], [A, B])]]]);
    assert.deepEqual(verdictsOf(targets, stands), [undefined]);
  });

  test("a VIP that it brings is not one that nobody has", () => {
    const targets = new Targets(RANGE);
    accept(targets, [], true);
    assert.deepEqual(verdictsOf(targets, UDP_A), ["vip-gone"]);
    propose(targets, [["demo/serve", [udpService([A])]]]);
    assert.deepEqual(verdictsOf(targets, UDP_A), [undefined]);
  });

  test("if it fails, some of it may be live until another one is", () => {
    const targets = new Targets(RANGE);
    accept(targets, [["demo/serve", [udpService([A])]]], true);
    propose(targets, [["demo/serve", [udpService([B])]]]);
    targets.fail();
    assert.deepEqual(verdictsOf(targets, UDP_A, UDP_B), [undefined, undefined]);
    propose(targets, [["demo/serve", [udpService([A])]]]);
    assert.deepEqual(verdictsOf(targets, UDP_A, UDP_B), [undefined, undefined]);
    accept(targets, [], true);
    assert.deepEqual(verdictsOf(targets, UDP_A, UDP_B), [undefined, "endpoint-left"]);
  });
});

test("an endpoint that leaves in the middle of a walk may still answer", () => {
  const targets = new Targets(RANGE);
  accept(targets, [["demo/serve", [tcpService([A, B])]]], true);
  const walk = new Judge(targets);
  assert.equal(walk.verdict(entry({ ...TRY, at: "10.1.0.13:8080" })), "unanswered");
  propose(targets, [["demo/serve", [tcpService([B])]]]);
  targets.accept(false);
  assert.equal(walk.verdict(entry({ ...TRY, at: `${A}:8080` })), undefined);
});

const pods = fc.subarray([A, B, "10.1.0.13"]);
const services = fc.record({ udp: fc.option(pods), tcp: fc.option(pods), listed: fc.option(pods) });
type Pods = readonly string[] | null;
interface World {
  readonly imports: Readonly<Record<string, { udp: Pods; tcp: Pods; listed: Pods }>>;
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

test("the past decides nothing: after any history, verdicts are those of a process that has just started", () => {
  const proposal = ({ imports, swapped }: World): Proposal =>
    (["demo/a", "demo/b"] as const).map((key, i) => {
      const { udp, tcp, listed } = imports[key] ?? {};
      const at = { importKey: key, vips: [`241.0.0.${(i === 0) === swapped ? 2 : 1}`] };
      const ports = [
        ...(udp ? [udpService(udp, at)] : []),
        ...(tcp ? [tcpService(tcp, listed ?? undefined, at)] : []),
      ];
      return [key, ports];
    });
  fc.assert(
    fc.property(fc.array(world, { minLength: 1 }), fc.array(anyEntry), (worlds, changes) => {
      const [old, young] = [new Targets(RANGE), new Targets(RANGE)];
      for (const [i, one] of worlds.entries()) accept(old, proposal(one), i === 0 || one.complete);
      for (const one of worlds.slice(-1)) accept(young, proposal(one), true);
      for (const { at, tcp, ...rest } of changes) {
        const port = rest.protocol === "UDP" ? 5353 : 8080;
        const state = rest.protocol === "TCP" && { tcp };
        const one = entry({ ...rest, ...state, ...(at && { at: `${at}:${port}` }) });
        const verdict = new Judge(old).verdict(one);
        assert.equal(verdict, new Judge(young).verdict(one));
        if (rest.to.startsWith("10.")) assert.equal(verdict, undefined);
      }
    }),
  );
});
