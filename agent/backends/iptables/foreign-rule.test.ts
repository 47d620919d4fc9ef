import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../../test/generators/for-all.ts";
import { parseForeign } from "./foreign-rule.ts";

describe("a foreign rule", () => {
  test("is parsed up to its target", () => {
    const text =
      '-A FORWARD ! -s 10.0.0.0/8 -i eth0 -p tcp -m tcp --dport 80 -m comment --comment "a \\"b\\" c" -j LOG --log-prefix "-j DROP "';
    assert.deepEqual(parseForeign(text), {
      text,
      conditions: [
        { option: "-s", negated: true, values: ["10.0.0.0/8"] },
        { option: "-i", negated: false, values: ["eth0"] },
        { option: "-p", negated: false, values: ["tcp"] },
        { option: "-m", negated: false, values: ["tcp"] },
        { option: "--dport", negated: false, values: ["80"] },
      ],
      comments: ['a "b" c'],
      target: { goto: false, name: "LOG" },
    });
  });

  test("may have no target", () => {
    assert.deepEqual(parseForeign("-A INPUT"), {
      text: "-A INPUT",
      conditions: [],
      comments: [],
    });
  });

  test("may have several conditions, each of them negated or not", () => {
    const rule =
      "-A POSTROUTING -m set ! --match-set all dst,src -m tcp --tcp-flags SYN,RST SYN -g A";
    const { conditions, target } = parseForeign(rule);
    assert.deepEqual(conditions[1], {
      option: "--match-set",
      negated: true,
      values: ["all", "dst,src"],
    });
    assert.deepEqual(conditions[3]?.values, ["SYN,RST", "SYN"]);
    assert.deepEqual(target, { goto: true, name: "A" });
  });

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
