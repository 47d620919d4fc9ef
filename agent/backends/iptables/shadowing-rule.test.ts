import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../../test/generators/for-all.ts";
import { parseForeign } from "./foreign-rule.ts";
import type { Jump } from "./object-id.ts";
import { findShadowing, placeOf } from "./shadowing-rule.ts";

describe("a foreign rule", () => {
  test("is parsed without its comment", () => {
    const property = fc.property(
      fc.oneof(
        fc.string({ unit: "grapheme-ascii", maxLength: 40 }),
        fc.constantFrom("-j", "-g", "!", "-d", "--ctstate"),
      ),
      (comment) => {
        const bare = /^[A-Za-z0-9_-]+$/.test(comment);
        const printed = bare ? comment : `"${comment.replace(/["\\']/g, "\\$&")}"`;
        const text = `-A FORWARD -d 1.2.3.4/32 -m comment --comment ${printed} -j ACCEPT`;
        const rule = parseForeign(text);
        assert.deepEqual(rule.conditions, [
          { option: "-d", negated: false, values: ["1.2.3.4/32"] },
        ]);
        assert.deepEqual(rule.comments, [comment]);
        assert.deepEqual(rule.target, { goto: false, name: "ACCEPT" });
      },
    );
    fc.assert(property);
  });

  test("never makes the parser throw", () =>
    forAll([fc.string({ unit: "binary" })], (text) => void parseForeign(text)));
});

const JUMPS = {
  PREROUTING: "nat PREROUTING -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES",
  OUTPUT: "nat OUTPUT -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES",
  POSTROUTING:
    "nat POSTROUTING -m conntrack --ctstate DNAT --ctorigdst 241.0.0.0/8 -j CSP-MASQUERADE",
  FORWARD: "filter FORWARD -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-GUARD",
  FILTER_OUTPUT: "filter OUTPUT -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-GUARD",
} as const satisfies Record<string, Jump>;
type Where = keyof typeof JUMPS;

/** What becomes of a jump behind these lines of iptables-save; chains that none is in are not listed. */
function evaluated(where: Where, lines: readonly string[], missing: readonly string[] = []) {
  const chain = where === "FILTER_OUTPUT" ? "OUTPUT" : where;
  const before = lines.filter((line) => line.startsWith(`-A ${chain} `)).map(parseForeign);
  const names = new Set(lines.map((line) => line.split(" ")[1] ?? ""));
  const chains = new Map(
    [...names].map((name) => [
      name,
      lines.filter((line) => line.startsWith(`-A ${name} `)).map(parseForeign),
    ]),
  );
  const all = new Map([...chains, ...missing.map((name) => [name, undefined] as const)]);
  return findShadowing(before, all, placeOf(JUMPS[where]));
}

function verdict(where: Where, ...lines: string[]): string | undefined {
  const { shadowing: found, unlisted } = evaluated(where, lines);
  assert.deepEqual([...unlisted.keys()], []);
  return found?.taker.text;
}

/** Harmless and not, in the same words. */
function cases(where: Where, harmless: readonly string[], harmful: readonly string[]): void {
  const chain = where === "FILTER_OUTPUT" ? "OUTPUT" : where;
  for (const rule of harmless) {
    test(`${chain} ${rule} does not`, () =>
      assert.equal(verdict(where, `-A ${chain} ${rule}`), undefined));
  }
  for (const rule of harmful) {
    const line = `-A ${chain} ${rule}`;
    test(`${line} does`, () => assert.equal(verdict(where, line), line));
  }
}

describe("before DNAT, a rule takes packets from our jump", () => {
  cases(
    "PREROUTING",
    [
      "-d 10.96.0.10/32 -j DNAT --to-destination 1.2.3.4",
      "! -d 240.0.0.0/4 -j ACCEPT",
      "-i lo -j ACCEPT",
      "-p icmp -j ACCEPT",
      "-m addrtype --dst-type LOCAL -j REDIRECT --to-ports 1",
      "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
      "-m state --state RELATED,ESTABLISHED -j ACCEPT",
      "-m conntrack ! --ctstate NEW -j ACCEPT",
      "-m mark --mark 0x4000/0x4000 -j RETURN",
      "-j MARK --set-xmark 0x4000/0x4000",
      "-j LOG --log-prefix ACCEPT",
      '-m comment --comment "a \\"b\\" -j ACCEPT" -j LOG --log-prefix "-j ACCEPT "',
      "-j CSP-SERVICES-04",
      "-p tcp",
    ],
    [
      "-j ACCEPT",
      "-j RETURN",
      "-d 241.7.0.0/16 -j DNAT --to-destination 1.2.3.4",
      "-d 0.0.0.0/1.0.0.1 -j ACCEPT",
      "! -d 241.0.0.0/9 -j ACCEPT",
      "! -d 10.0.0.0/8 -j RETURN",
      "-s 10.0.0.0/8 -j ACCEPT",
      "-i eth0 -j ACCEPT",
      "! -i lo -j ACCEPT",
      "-p udp -m udp --dport 53 -j REDIRECT --to-ports 5353",
      "! -p tcp -j ACCEPT",
      "-p 132 -j ACCEPT",
      "-m addrtype ! --dst-type LOCAL -j ACCEPT",
      "-m addrtype --dst-type UNICAST -j ACCEPT",
      "-m conntrack --ctstate NEW,RELATED -j ACCEPT",
      "-m conntrack ! --ctstate INVALID -j ACCEPT",
      "-m mark --mark 0x0/0x4000 -j ACCEPT",
      "-m mark ! --mark 0x1 -j ACCEPT",
      "-m set --match-set somebody src -j ACCEPT",
      "-m set ! --match-set somebody dst,src -m tcp --tcp-flags SYN,RST SYN -j ACCEPT",
      "-m something --new -j ACCEPT",
    ],
  );

  test("also with a goto to any chain", () => {
    const rule = "-A PREROUTING -i eth0 -g OTHER";
    assert.equal(verdict("PREROUTING", rule, "-A OTHER -d 10.0.0.1/32 -j RETURN"), rule);
  });
});

describe("after DNAT, a rule keeps connections from being masqueraded", () => {
  cases(
    "POSTROUTING",
    [
      "-s 10.0.0.0/8 -j MASQUERADE --random-fully",
      "-j SNAT --to-source 1.2.3.4",
      "-m mark --mark 0x4000/0x4000 -j ACCEPT",
      "-p icmp -j ACCEPT",
      "-m conntrack --ctstate ESTABLISHED -j ACCEPT",
      "-m conntrack ! --ctstate DNAT -j ACCEPT",
    ],
    [
      "-j ACCEPT",
      "-d 10.0.0.0/8 -j RETURN",
      "-s 10.244.0.0/16 -d 10.244.0.0/16 -j RETURN",
      "-o lo -j ACCEPT",
      "-m addrtype --dst-type LOCAL -j ACCEPT",
      "-m conntrack --ctstate DNAT -j ACCEPT",
    ],
  );
});

describe("in filter, a rule accepts or drops what the guard would reject", () => {
  cases(
    "FORWARD",
    [
      "-j REJECT --reject-with icmp-port-unreachable",
      "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
      "-m conntrack --ctstate INVALID -j DROP",
      "-i lo -j ACCEPT",
      "-d 10.0.0.0/8 -j ACCEPT",
    ],
    ["-j ACCEPT", "-j DROP", "-j RETURN", "-i lxc+ -j ACCEPT", "-j NFQUEUE --queue-num 0"],
  );
  cases("FILTER_OUTPUT", ["-o lo -j ACCEPT"], ["-o eth0 -j ACCEPT"]);

  test("a DROP in a program's own chains is a policy", () => {
    const lines = [
      "-A FORWARD -j policy",
      "-A policy -i eth0 -g more",
      "-A more -m set --match-set x src -j DROP",
      "-A more -j DROP",
    ];
    assert.equal(verdict("FORWARD", ...lines), undefined);
    assert.equal(
      verdict("FORWARD", ...lines, "-A policy -p tcp -j ACCEPT"),
      "-A policy -p tcp -j ACCEPT",
    );
  });

  test("unless everything was rejected before", () => {
    assert.equal(verdict("FORWARD", "-A FORWARD -j REJECT", "-A FORWARD -j ACCEPT"), undefined);
    const some = ["-A FORWARD -p udp -j REJECT", "-A FORWARD -j ACCEPT"];
    assert.equal(verdict("FORWARD", ...some), "-A FORWARD -j ACCEPT");
    const inside = ["-A FORWARD -j policy", "-A policy -j DROP", "-A policy -j ACCEPT"];
    assert.equal(verdict("FORWARD", ...inside, "-A FORWARD -j ACCEPT"), undefined);
  });
});

describe("foreign chains", () => {
  test("lead back with RETURN and at their end", () => {
    const lines = [
      "-A PREROUTING -j A",
      "-A A -p tcp -j RETURN",
      "-A A -j B",
      "-A B -p udp -j RETURN",
    ];
    assert.equal(verdict("PREROUTING", ...lines), undefined);
  });

  test("are not evaluated after an unconditional RETURN or goto", () => {
    const after = "-A A -j ACCEPT";
    assert.equal(verdict("PREROUTING", "-A PREROUTING -j A", "-A A -j RETURN", after), undefined);
    const chain = "-A B -d 10.0.0.1/32 -j ACCEPT";
    assert.equal(verdict("PREROUTING", "-A PREROUTING -j A", "-A A -g B", after, chain), undefined);
    const some = ["-A PREROUTING -j A", "-A A -p tcp -j RETURN", after];
    assert.equal(verdict("PREROUTING", ...some), after);
  });

  test("are requested one by one, and only if a packet to a ClusterSetIP may reach them", () => {
    const lines = ["-A PREROUTING -d 10.0.0.1/32 -j A", "-A PREROUTING -j B", "-A PREROUTING -j C"];
    const { shadowing: found, unlisted } = evaluated("PREROUTING", lines);
    assert.equal(found, undefined);
    assert.deepEqual(
      [...unlisted].map(([name, { text }]) => [name, text]),
      [
        ["B", "-A PREROUTING -j B"],
        ["C", "-A PREROUTING -j C"],
      ],
    );
  });

  test("that do not exist are unknown extensions", () => {
    const { shadowing: found } = evaluated("PREROUTING", ["-A PREROUTING -j TARPIT"], ["TARPIT"]);
    assert.equal(found?.rule.text, "-A PREROUTING -j TARPIT");
  });

  test("may form a loop", () => {
    const circle = ["-A PREROUTING -j A", "-A A -j B", "-A B -j A"];
    assert.equal(verdict("PREROUTING", ...circle), undefined);
  });
});
