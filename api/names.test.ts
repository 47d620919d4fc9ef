import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { forAll } from "../test/generators/for-all.ts";
import * as names from "./names.ts";

/** Characters that no name has, wherever they are in it. */
const ODD = `\n\0 /:"'\\#$()ａé\u202e\u200b`;
const AROUND = ODD.split("").flatMap((odd) => [`${odd}a`, `a${odd}`, `a${odd}b`]);
const HOSTILE = ["", "-", "-a", "a-", "a_b", "__proto__", ...AROUND];

const KINDS = [
  {
    name: "isLabelName",
    holds: names.isLabelName,
    good: ["a", "0", "serve", "a-b", "a--b", "constructor", "x".repeat(63)],
    bad: ["A", "a.b", ".", "x".repeat(64)],
  },
  {
    name: "isSubdomainName",
    holds: names.isSubdomainName,
    good: [
      "a",
      "a.b.c",
      "ip-10-0-0-1.eu-west-1.compute.internal",
      `${"a.".repeat(126)}a`,
      `${"x".repeat(63)}-a1b2c`,
    ],
    bad: ["A", "a..b", ".a", "a.", "a-.b", `${"a.".repeat(127)}a`, "x".repeat(254)],
  },
  {
    name: "isClusterId",
    holds: names.isClusterId,
    good: ["c1", "eu.c1", "x".repeat(63)],
    bad: ["C1", "a.b.c", "a.", ".a", `${"x".repeat(32)}.${"x".repeat(32)}`],
  },
  {
    name: "isLabelValue",
    holds: names.isLabelValue,
    good: ["eu-west", "EU_West.1", "a", "x".repeat(63), "a_b"],
    bad: [".a", "a.", "_a", "x".repeat(64)],
  },
];

for (const { name, holds, good, bad } of KINDS) {
  describe(name, () => {
    for (const text of good) {
      test(`accepts ${text.slice(0, 70)}`, () => assert.equal(holds(text), true));
    }
    const alike = HOSTILE.filter((text) => !good.includes(text));
    for (const text of [...alike, ...bad]) {
      test(`rejects ${JSON.stringify(text.slice(0, 70))}`, () => assert.equal(holds(text), false));
    }
    test("accepts letters, digits and -_. of ASCII only, at most 253 of them", () =>
      forAll([fc.string({ unit: "binary", maxLength: 20 })], (text) => {
        if (holds(text)) assert.match(text, /^[-A-Za-z0-9_.]{1,253}$/);
      }));
  });
}

test("a qualified name is a name, or a DNS subdomain, a slash and a name", () => {
  const longest = `${"a".repeat(63)}.${"b".repeat(63)}/${"c".repeat(63)}`;
  for (const good of ["http", "A_b.c", "1", "example.com/x", "kubernetes.io/h2c", longest]) {
    assert.ok(names.isQualifiedName(good), good);
  }
  const slashes = ["/", "a/", "/a", "a//b", "a/b/c", "A/b", "a_b/c", `${"c".repeat(64)}`, "a/-b"];
  for (const bad of [...slashes, ...HOSTILE.filter((text) => !/^a[/_]b$/.test(text))]) {
    if (bad !== "__proto__") assert.ok(!names.isQualifiedName(bad), JSON.stringify(bad));
  }
  assert.ok(!names.isQualifiedName("__proto__"));
});
