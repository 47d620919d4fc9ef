import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FAMILIES, type Family } from "../../api/address.ts";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { MODELLED } from "../backends.ts";
import { FakeIptables } from "../doubles/iptables/iptables.ts";
import { importObject } from "../generators/objects.ts";
import { addressAt, homeFact, VIPS } from "./address-plan.ts";
import { PACKET_CASES } from "./cases.ts";
import { CERTAIN, chanceToNumber, either, isNear, isOneIn, NEVER, sameChance } from "./chance.ts";
import { slice } from "./objects.ts";
import type { Packet } from "./packet.ts";
import type { Expectation, Flow, PacketCase, Target } from "./packet-case.ts";
import { applyTo, modelOf, planOf, rendered, wanted } from "./rendered.ts";
import { chancesOf, type Outcome, type Tables, type Traced, trace } from "./trace.ts";

for (const backend of MODELLED) {
  describe(`${backend.name}: the packet table`, () => {
    for (const one of PACKET_CASES) test(one.name, () => runCase(one, backend));
  });
}

function runCase(one: PacketCase, backend: TestedBackend): void {
  const node = one.node(homeFact());
  const services = planOf(modelOf(one.objects, node), node);
  const { masquerade } = one;
  const kernels = new Map(
    FAMILIES.map((family) => [family, backend.program({ services, family, node, masquerade })]),
  );
  const kept: (() => void)[] = [];
  for (const flow of one.flows.map(backend.flow)) {
    const kernel = kernels.get(familyOf(flow.to)) ?? assert.fail();
    const outcomes = kernel.trace(packetOf(flow.from, flow.to));
    const { protocol, address, port } = flow.to;
    const where = `${flow.from} to ${protocol} ${address} ${port}`;
    assertExpected(outcomes, flow, where);
    for (const outcome of outcomes) {
      assertKept(kernel, flow, outcome, where);
      assertEstablished(kernel, flow, outcome, where);
      if (backend.kept.includes(protocol))
        kept.push(() => assertEstablished(kernel, flow, outcome, `${where}, withdrawn`));
    }
    assertInvalid(kernel, flow, backend.invalid, where);
  }
  for (const kernel of kernels.values()) kernel.withdraw();
  for (const check of kept) check();
}

/** Every expected endpoint has its part, and there is no other outcome. */
function assertExpected(outcomes: readonly Outcome<unknown>[], flow: Flow, where: string): void {
  const chances = chancesOf(outcomes);
  const fates = fatesOf(flow.expect, flow.to);
  assert.deepEqual([...chances.keys()].sort(), [...fates].sort(), where);
  const parts = Array.isArray(flow.expect) ? flow.expect.map(({ part = 1 }) => part) : [1];
  const whole = parts.reduce((sum, part) => sum + part, 0);
  for (const [i, fate] of fates.entries()) {
    const chance = chances.get(fate) ?? NEVER;
    const share = (parts[i] ?? 0) / whole;
    assert.ok(isNear(chance, share, whole), `${where}: ${fate} has ${chanceToNumber(chance)}`);
  }
  assert.ok(sameChance([...chances.values()].reduce(either, NEVER), CERTAIN), where);
}

/** The same client's next connections reach the same pod. */
function assertKept(
  kernel: Traced,
  { from, again }: Flow,
  outcome: Outcome<unknown>,
  where: string,
): void {
  let memory = outcome.memory;
  for (const target of again) {
    const [next, ...others] = kernel.trace(packetOf(from, target), memory);
    assert.ok(next && others.length === 0, `${where}, then ${target.port}: not certain`);
    assert.equal(hostOf(next), hostOf(outcome), `${where}, then ${target.port}`);
    memory = next.memory;
  }
}

/** Later packets of a connection go where the first one went. */
function assertEstablished(
  kernel: Traced,
  flow: Flow,
  { fate }: Outcome<unknown>,
  where: string,
): void {
  if (fate.fate !== "sent") return;
  const at = fate.to.lastIndexOf(":");
  const address = fate.to.slice(0, at).replace(/[[\]]/g, "");
  const boundTo = { address, port: Number(fate.to.slice(at + 1)) };
  const packet: Packet = { ...packetOf(flow.from, flow.to), state: "ESTABLISHED", boundTo };
  const fates = kernel.trace(packet).map((later) => later.fate);
  const sent = { fate: "sent", to: fate.to, masquerade: false };
  assert.deepEqual(fates, [sent], `${where}: established`);
}

/** A packet without a connection is not rejected with a reset, which could end a live connection. */
function assertInvalid(
  kernel: Traced,
  { from, to, expect }: Flow,
  served: TestedBackend["invalid"],
  where: string,
): void {
  const packet: Packet = { ...packetOf(from, to), state: "INVALID" };
  const fates = kernel.trace(packet).map(({ fate }) => fate);
  const fate = expect === "untouched" ? expect : expect === "refused" ? "dropped" : served;
  assert.deepEqual(fates, [{ fate }], `${where}: invalid`);
}

const FOREIGN = {
  nat: `*nat
:KUBE-SERVICES - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A POSTROUTING -j ACCEPT
-A KUBE-SERVICES -j DNAT --to-destination 10.9.9.9
COMMIT
`,
  filter: "*filter\n-A FORWARD -j ACCEPT\n-A OUTPUT -j ACCEPT\nCOMMIT\n",
};

for (const [what, rules, concerns] of [
  ["are translated by us", FOREIGN.nat, (flow: Flow) => Array.isArray(flow.expect)],
  ["are refused by us", FOREIGN.filter, (flow: Flow) => flow.expect === "refused"],
] as const) {
  test(`packets that foreign rules would take ${what} before`, () => {
    for (const one of PACKET_CASES) {
      const home = one.node(homeFact());
      const fake = new FakeIptables("IPv4");
      assert.equal(fake.restore(rules).exitCode, 0);
      const services = planOf(modelOf(one.objects, home), home);
      applyTo(fake, wanted(services, "IPv4", home, one.masquerade));
      for (const flow of one.flows) {
        if (familyOf(flow.to) === "IPv6" || !concerns(flow)) continue;
        const outcomes = trace(tablesOf(fake), packetOf(flow.from, flow.to));
        assertExpected(outcomes, flow, `${one.name}: ${flow.to.address}`);
      }
    }
  });
}

const HTTP = [{ name: "http", port: 80 }];

test("a client whose pod is removed gets another, and keeps it", () => {
  const serve = importObject("demo/serve", [VIPS.first], HTTP, { sessionAffinity: "ClientIP" });
  const tables = (...pods: readonly string[]): Tables => {
    const objects = [serve, slice("demo/serve", pods.join(" "))];
    return tablesOf(rendered(objects, homeFact(), "none").get("IPv4"));
  };
  const packet = packetOf("c1/n1/client", { protocol: "tcp", address: VIPS.first, port: 80 });
  for (const first of trace(tables("c1/n1/a"), packet)) {
    const seconds = trace(tables("c1/n1/b", "c1/n2/c"), packet, first.memory);
    assert.equal(seconds.length, 2);
    for (const second of seconds) {
      const [third, ...others] = trace(tables("c1/n1/b", "c1/n2/c"), packet, second.memory);
      assert.deepEqual([third?.fate, others], [second.fate, []]);
    }
  }
});

test("a client keeps its pod on one port although it gets another pod on a port with other endpoints", () => {
  const ports = [...HTTP, { name: "https", port: 443 }];
  const http = { name: "http", protocol: "TCP", port: 8080 } as const;
  const https = { name: "https", protocol: "TCP", port: 8443 } as const;
  const objects = [
    importObject("demo/serve", [VIPS.first], ports, { sessionAffinity: "ClientIP" }),
    slice("demo/serve", "c1/n1/a", { name: "both", ports: [http, https] }),
    slice("demo/serve", "c1/n1/b", { name: "one", ports: [http] }),
  ];
  const tables = tablesOf(rendered(objects, homeFact(), "none").get("IPv4"));
  const packet = (port: number) =>
    packetOf("c1/n1/client", { protocol: "tcp", address: VIPS.first, port });
  const firsts = trace(tables, packet(80));
  assert.equal(firsts.length, 2);
  for (const first of firsts) {
    const [there, ...others] = trace(tables, packet(443), first.memory);
    assert.deepEqual([there && hostOf(there), others], [addressAt("c1/n1/a", "IPv4"), []]);
    const again = trace(tables, packet(80), there?.memory);
    const fates = again.map(({ fate }) => fate);
    assert.deepEqual(fates, [first.fate]);
  }
});

for (const others of [0, 18]) {
  test(`an explicit VIP that is a pod's address, with ${others} others, does not affect that pod's established connections`, () => {
    const claimed = addressAt("c2/n1/a", "IPv4");
    const more = Array.from({ length: others }, (_, i) => `198.51.100.${i + 1}`);
    const objects = [importObject("demo/greedy", [claimed, ...more], HTTP)];
    const tables = tablesOf(rendered(objects, homeFact(), "none").get("IPv4"));
    const fates = (state: "NEW" | "ESTABLISHED", port = 40_000) => {
      const packet = packetOf("c1/n1/a", { protocol: "tcp", address: claimed, port });
      return trace(tables, { ...packet, state }).map(({ fate }) => fate.fate);
    };
    assert.deepEqual(fates("ESTABLISHED"), ["untouched"]);
    assert.deepEqual(fates("ESTABLISHED", 80), ["untouched"]);
    assert.deepEqual(fates("NEW"), ["untouched"]);
    assert.deepEqual(fates("NEW", 80), ["rejected"]);
  });
}

test("997 endpoints get equal shares", () => {
  const serve = importObject("demo/serve", [VIPS.first], HTTP);
  const addresses = [...Array(997).keys()].map((i) => `10.1.${(i >> 7) + 10}.${(i & 127) + 1}`);
  const endpoints = addresses.map((address) => ({ addresses: [address] }));
  const big = { ...slice("demo/serve", "c1/n1/a"), endpoints };
  const tables = tablesOf(rendered([serve, big], homeFact(), "none").get("IPv4"));
  const packet = packetOf("c1/n1/client", { protocol: "tcp", address: VIPS.first, port: 80 });
  const chances = chancesOf(trace(tables, packet));
  assert.equal(chances.size, 997);
  for (const chance of chances.values()) assert.ok(isOneIn(chance, 997));
});

function tablesOf(fake: FakeIptables | undefined): Tables {
  assert.ok(fake);
  return fake.tables;
}

function familyOf({ address }: Target): Family {
  return address.includes(":") ? "IPv6" : "IPv4";
}

function packetOf(from: string, to: Target): Packet {
  return {
    from: from.split("/").length > 2 ? "pod" : "host",
    source: addressAt(from, familyOf(to)),
    destination: to.address,
    protocol: to.protocol,
    port: to.port,
  };
}

function fatesOf(expect: Expectation, to: Target): string[] {
  if (expect === "untouched" || expect === "unserved") return ["untouched"];
  if (expect === "refused") {
    const unreachable =
      familyOf(to) === "IPv4" ? "icmp-port-unreachable" : "icmp6-port-unreachable";
    return [to.protocol === "tcp" ? "tcp-reset" : unreachable];
  }
  return expect.map(({ pod, port, masquerade }) => {
    const address = addressAt(pod, familyOf(to));
    const host = address.includes(":") ? `[${address}]` : address;
    return `${host}:${port}${masquerade ? " masqueraded" : ""}`;
  });
}

function hostOf({ fate }: Outcome<unknown>): string {
  assert.equal(fate.fate, "sent");
  return fate.fate === "sent" ? fate.to.slice(0, fate.to.lastIndexOf(":")) : "";
}
