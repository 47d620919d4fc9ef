import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandLine } from "../../test/stages/command-line.ts";

test("a drain that controllers would reject is a usage error, before anything is changed", async () => {
  using user = new CommandLine({});
  const long = "x".repeat(100);
  for (const flags of [
    ["--for", "30d", "--by", long, "--reason", long],
    ["--for", "2h", "--reason", "\u{1f6a7}".repeat(100)],
    ["--for", "2h", "--from", "0000-01-01T00:00:00+14:00"],
  ]) {
    const { code, note } = await user.run("drain", "c1", ...flags);
    assert.equal(code, 2, note);
    assert.match(note, /^The drain would be invalid: "from=/);
  }
});
