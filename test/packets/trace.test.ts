import assert from "node:assert/strict";
import { test } from "node:test";
import { UnknownGrammar } from "../doubles/iptables/faults.ts";
import { FakeIptables } from "../doubles/iptables/iptables.ts";
import type { Packet } from "./packet.ts";
import { fateText, type Tables, trace } from "./trace.ts";

const POD: Packet = {
  from: "pod",
  source: "10.1.0.11",
  destination: "241.0.0.10",
  protocol: "tcp",
  port: 80,
};

/** Reads iptables-save text. */
function tablesOf(text: string): Tables {
  const fake = new FakeIptables("IPv4");
  const { exitCode, stderr } = fake.restore(text);
  assert.equal(exitCode, 0, stderr);
  return fake.tables;
}

function fates(text: string, packet: Partial<Packet> = {}): string[] {
  const outcomes = trace(tablesOf(text), { ...POD, ...packet });
  return outcomes.map(({ fate }) => fateText(fate));
}

/** A table filter whose FORWARD is these rules, with chains A and B. */
function forward(...rules: readonly string[]): string {
  return ["*filter", ":A - [0:0]", ":B - [0:0]", ...rules, "COMMIT", ""].join("\n");
}

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

test("the tracer throws at an unknown rule, and at text that iptables rejects", () => {
  const rule = (text: string) => () => tablesOf(`*nat\n-A OUTPUT ${text}\nCOMMIT\n`);
  assert.throws(rule("-j MARK --set-xmark 0x4000/0x4000"), UnknownGrammar);
  assert.throws(rule("-m addrtype --dst-type LOCAL -j RETURN"), UnknownGrammar);
  assert.throws(rule("-j MISSING-chain"), /Couldn't load target/);
});
