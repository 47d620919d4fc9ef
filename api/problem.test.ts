import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { forAll } from "../test/generators/for-all.ts";
import { type Problem, problemText, shown } from "./problem.ts";

describe("shown", () => {
  test("is one short line of visible ASCII, whatever the value", () =>
    forAll([fc.anything({ maxDepth: 3 }), fc.string({ unit: "binary" })], (value, text) => {
      for (const one of [value, text, [text], { [text]: value }]) {
        assert.match(shown(one), /^[\x20-\x7e]{0,83}$/);
      }
    }));

  test("is a prefix of the JSON of JSON.stringify", () =>
    forAll([fc.jsonValue()], (value) => {
      const json = JSON.stringify(value).replace(/[^\x20-\x7e]/g, (c) => {
        return `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
      });
      assert.equal(shown(value), json.length > 80 ? `${json.slice(0, 80)}...` : json);
    }));

  test("costs nothing for hidden parts: a hundred thousand levels, a value that contains itself", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    assert.equal(shown(JSON.parse(deep)), `${"[".repeat(80)}...`);
    const objects = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    assert.equal(shown(JSON.parse(objects)), `${'{"a":'.repeat(16)}...`);
    const circle: unknown[] = ["x"];
    circle.push(circle);
    assert.match(shown(circle), /^\["x",\["x",.*\.\.\.$/);
  });

  const SHOWN = [
    ["10.0.0.1", '"10.0.0.1"'],
    [80, "80"],
    [undefined, "missing"],
    [null, "null"],
    [["a", 1], '["a",1]'],
    [[undefined, Number.NaN], "[null,null]"],
    [{ a: undefined, b: {}, c: [] }, '{"b":{},"c":[]}'],
    [10n, "10"],
    [JSON.parse('{"__proto__":1}'), '{"__proto__":1}'],
    ["\u001b[31m\u0007\r\n\0\u007f", '"\\u001b[31m\\u0007\\r\\n\\u0000\\u007f"'],
    ["a\u202eb\u2066\u200b", '"a\\u202eb\\u2066\\u200b"'],
    ["😀\ud800", '"\\ud83d\\ude00\\ud800"'],
    ["x".repeat(1e6), `"${"x".repeat(79)}...`],
    ["\u202e".repeat(1e4), `"${"\\u202e".repeat(14).slice(0, 79)}...`],
  ] as const;
  for (const [value, text] of SHOWN) {
    test(`shows ${text.slice(0, 40)}`, () => assert.equal(shown(value), text));
  }
});

test("problemText names the object, the field, the reason and the value", () => {
  const problem: Problem = {
    reason: "loopback-address",
    object: "EndpointSlice demo/serve-x",
    field: "endpoints[3].addresses[0]",
    value: shown("127.0.0.1"),
  };
  assert.equal(
    problemText(problem),
    'EndpointSlice demo/serve-x: endpoints[3].addresses[0]: loopback-address: "127.0.0.1"',
  );
});
