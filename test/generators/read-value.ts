import assert from "node:assert/strict";
import type { Read } from "../../common/config/values.ts";

/** What was expected in the place of what was read; fails if that was accepted. */
export function expected<T>(read: Read<T>): string {
  assert.ok("expected" in read, `accepted: ${JSON.stringify(read)}`);
  return read.expected;
}

/** What was read; fails if it was refused. */
export function value<T>(read: Read<T>): T {
  assert.ok("value" in read, `refused: ${JSON.stringify(read)}`);
  return read.value;
}
