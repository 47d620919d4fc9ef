import { test } from "node:test";
import { assertUnanswered } from "../conntrack/unanswered.ts";

test("when a silent endpoint is removed, its unanswered connects reach another endpoint or are rejected; established connections stay", () => {
  return assertUnanswered();
});
