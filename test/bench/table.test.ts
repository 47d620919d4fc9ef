import assert from "node:assert/strict";
import { test } from "node:test";
import { atMostMs, atMostTimes, tableOf } from "./table.ts";

test("A table is aligned under headings, and says what was not met", () => {
  const table = tableOf([
    { title: "one", rows: [{ what: "long thing", ours: "12 ms", ...atMostTimes(1.3, 1.31) }] },
    { title: "two", rows: [{ what: "b", ours: "5 ms", target: atMostMs("p99", 5, 5) }] },
  ]);
  assert.equal(
    table,
    [
      "              ours   beside it  ratio  target       met",
      "",
      "one",
      "  long thing  12 ms             1.31   <= 1.3 x     NO",
      "",
      "two",
      "  b           5 ms                     p99 <= 5 ms  yes",
    ].join("\n"),
  );
});
