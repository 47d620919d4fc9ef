import assert from "node:assert/strict";
import { test } from "node:test";
import { UnknownGrammar } from "../doubles/iptables/faults.ts";
import { CERTAIN, either, isOneIn, NEVER, sameChance } from "./chance.ts";
import type { Packet } from "./packet.ts";
import { RecentMemory } from "./recent-memory.ts";
import { chancesOf, fateText, type Outcome, tablesOf, trace } from "./trace.ts";

const POD: Packet = {
  from: "pod",
  source: "10.1.0.11",
  destination: "241.0.0.10",
  protocol: "tcp",
  port: 80,
};

/** The usual skeleton of nat: one service with these rules, and this masquerading. */
function nat(service: readonly string[], masquerade: readonly string[] = []): string {
  const rules = [
    "-A PREROUTING -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-241.0.0.0/8",
    "-A OUTPUT -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-241.0.0.0/8",
    "-A POSTROUTING -m conntrack --ctstate DNAT --ctorigdst 241.0.0.0/8 -j CSP-MASQUERADE",
    '-A CSP-241.0.0.0/8 -d 241.0.0.10/32 -p tcp -m tcp --dport 80 -m comment --comment "demo/serve:http" -g CSP-SVC-X',
    ...service.map((rule) => `-A CSP-SVC-X ${rule}`),
    ...masquerade.map((rule) => `-A CSP-MASQUERADE ${rule}`),
  ];
  const chains = ["CSP-241.0.0.0/8", "CSP-SVC-X", "CSP-MASQUERADE"].map(
    (name) => `:${name} - [0:0]`,
  );
  return ["*nat", ...chains, ...rules, "COMMIT", ""].join("\n");
}

const THREE = [
  "-p tcp -m statistic --mode random --probability 0.33333333349 -j DNAT --to-destination 10.1.0.11:8080",
  "-p tcp -m statistic --mode random --probability 0.5 -j DNAT --to-destination 10.1.0.12:8080",
  "-p tcp -j DNAT --to-destination 10.2.0.11:8080",
];

function run(text: string, packet: Partial<Packet> = {}, memory?: RecentMemory): Outcome[] {
  return trace(tablesOf(text, "IPv4"), { ...POD, ...packet }, memory);
}

function fates(text: string, packet: Partial<Packet> = {}, memory?: RecentMemory): string[] {
  return run(text, packet, memory).map(({ fate }) => fateText(fate));
}

/** A table filter whose FORWARD is these rules, with chains A and B. */
function forward(...rules: readonly string[]): string {
  return ["*filter", ":A - [0:0]", ":B - [0:0]", ...rules, "COMMIT", ""].join("\n");
}

test("three rules with probabilities give each endpoint a third, and the sum is exactly one", () => {
  const chances = chancesOf(run(nat(THREE)));
  assert.deepEqual([...chances.keys()], ["10.1.0.11:8080", "10.1.0.12:8080", "10.2.0.11:8080"]);
  for (const chance of chances.values()) assert.ok(isOneIn(chance, 3));
  assert.ok(sameChance([...chances.values()].reduce(either, NEVER), CERTAIN));
  assert.equal(chances.get("10.1.0.11:8080")?.numerator, 715827883n, "k of k / 2^31");
});

test("a branch with probability zero is not an outcome", () => {
  const draw = (p: number) =>
    `-p tcp -m statistic --mode random --probability ${p} -j DNAT --to-destination 10.0.0.${p}:1`;
  assert.deepEqual(fates(nat([draw(0), draw(1), draw(0)])), ["10.0.0.1:1"]);
});

test("without a connection only --ctstate can match, as in xt_conntrack", () => {
  const asked = (states: string, state: "NEW" | "INVALID") =>
    fates(forward(`-A FORWARD -m conntrack ${states} -j DROP`), { state })[0];
  assert.equal(asked("--ctorigdst 241.0.0.0/8", "NEW"), "dropped");
  assert.equal(asked("--ctorigdst 241.0.0.0/8", "INVALID"), "untouched");
  assert.equal(asked("--ctorigdst 242.0.0.0/8", "NEW"), "untouched");
  assert.equal(asked("--ctstate INVALID --ctorigdst 242.0.0.0/8", "INVALID"), "dropped");
  assert.equal(asked("--ctstate NEW,DNAT", "INVALID"), "untouched");
  assert.equal(asked("! --ctstate NEW,DNAT", "NEW"), "untouched");
  assert.equal(asked("! --ctstate DNAT", "NEW"), "dropped");
  assert.equal(asked("! --ctstate DNAT", "INVALID"), "dropped");
});

test("after a goto, evaluation continues behind the last jump, or with the policy", () => {
  const tail = "-A FORWARD -j DROP";
  assert.deepEqual(fates(forward("-A FORWARD -g A", tail)), ["untouched"]);
  const nested = ["-A A -g B", "-A A -j ACCEPT", "-A FORWARD -j A", tail];
  assert.deepEqual(fates(forward(...nested)), ["dropped"]);
  assert.deepEqual(fates(forward("-A B -j RETURN", "-A B -j ACCEPT", ...nested)), ["dropped"]);
  const policy = forward(":FORWARD DROP [0:0]", "-A FORWARD -g A", "-A FORWARD -j ACCEPT");
  assert.deepEqual(fates(policy), ["dropped"]);
});

test("RETURN in a base chain applies its policy", () => {
  assert.deepEqual(
    fates(forward(":FORWARD DROP [0:0]", "-A FORWARD -j RETURN", "-A FORWARD -j ACCEPT")),
    ["dropped"],
  );
  assert.deepEqual(fates(forward("-A FORWARD -j RETURN", "-A FORWARD -j DROP")), ["untouched"]);
});

const LIST = (n: number) => `--name CSP-demo.serve-10.1.0.${n} --mask 255.255.255.255 --rsource`;
const STICKY = [
  `-p tcp -m recent --update --seconds 60 --reap ${LIST(1)} -j DNAT --to-destination 10.1.0.1:80`,
  `-p tcp -m recent --update --seconds 60 --reap ${LIST(2)} -j DNAT --to-destination 10.1.0.2:80`,
  `-p tcp -m statistic --mode random --probability 0.5 -m recent --set ${LIST(1)} -j DNAT --to-destination 10.1.0.1:80`,
  `-p tcp -m recent --set ${LIST(2)} -j DNAT --to-destination 10.1.0.2:80`,
];

test("a recorded client gets the same endpoint until the timeout", () => {
  for (const drawn of run(nat(STICKY))) {
    const again = (seconds: number, packet = {}) =>
      run(nat(STICKY), packet, drawn.memory.after(seconds));
    const [only, ...others] = again(60);
    assert.deepEqual([only?.fate, others], [drawn.fate, []]);
    assert.deepEqual(only?.memory.lists, drawn.memory.lists, "and is young again");
    assert.equal(again(61).length, 2, "forgotten");
    assert.equal(again(0, { source: "10.1.0.12" }).length, 2, "somebody else");
  }
});

test("a recorded client is deleted after the timeout", () => {
  const memory = new RecentMemory({
    "CSP-demo.serve-10.1.0.1": { "10.1.0.11": 61, "10.1.0.99": 0 },
  });
  const [, second] = run(nat(STICKY), {}, memory);
  assert.deepEqual(second?.memory.lists, {
    "CSP-demo.serve-10.1.0.1": { "10.1.0.99": 0 },
    "CSP-demo.serve-10.1.0.2": { "10.1.0.11": 0 },
  });
});

test("the tracer throws at an unknown rule, and at text that iptables rejects", () => {
  const rule = (text: string) => () => tablesOf(`*nat\n-A OUTPUT ${text}\nCOMMIT\n`, "IPv4");
  assert.throws(rule("-j MARK --set-xmark 0x4000/0x4000"), UnknownGrammar);
  assert.throws(rule("-m addrtype --dst-type LOCAL -j RETURN"), UnknownGrammar);
  assert.throws(rule("-j MISSING-chain"), /Couldn't load target/);
});

test("the tracer reads listings with counters", () => {
  const text = "# Generated\n*filter\n:FORWARD DROP [12:3456]\nCOMMIT\n# Completed\n";
  assert.deepEqual(fates(text), ["dropped"]);
});
