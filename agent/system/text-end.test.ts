import assert from "node:assert/strict";
import { test } from "node:test";
import { TextEnd } from "./text-end.ts";

test("what nft prints of a long transaction keeps its error, in whatever pieces it arrives", () => {
  const error = "/dev/stdin:1:1-9: Error: Could not process rule: File exists";
  const printed = `${error}\nadd element ${"1.2.3.4, ".repeat(9000)}\n${"^".repeat(80_000)}\n`;
  for (const size of [1, 64, 65_536, printed.length]) {
    const end = new TextEnd();
    for (let from = 0; from < printed.length; from += size)
      end.add(printed.slice(from, from + size));
    assert.ok(end.text.startsWith(`${error}\nadd element 1.2.3.4, `), `${size}`);
    assert.ok(end.text.length <= 2000);
  }
});

test("of many lines, the last are kept", () => {
  const end = new TextEnd();
  end.add("one\n".repeat(10_000));
  end.add("two");
  assert.match(end.text, /one\ntwo$/);
  assert.ok(end.text.length <= 2000);
});
