import assert from "node:assert/strict";
import { test } from "node:test";
import { withNames, withoutNames } from "./corefile.ts";

const BEFORE = ".:53 {\n    errors\n}\n";

test("the block is added once, and removed without a trace", () => {
  const after = withNames(BEFORE);
  assert.match(after, /^clusterset\.local:53 \{$/m);
  assert.equal(withNames(after), after);
  assert.equal(withoutNames(after), BEFORE);
  assert.equal(withNames(`${after}other:53 {\n}\n`).match(/clusterset\.local:53/g)?.length, 1);
});
