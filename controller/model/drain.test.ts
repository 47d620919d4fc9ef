import assert from "node:assert/strict";
import { test } from "node:test";
import { ANNOTATION_DRAIN } from "../../api/keys.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { problemText } from "../../api/problem.ts";
import { drainText, parseDrain } from "./drain.ts";

const FROM = Date.UTC(2026, 10, 24, 4);
const HOUR = 3_600_000;

function parse(value?: unknown) {
  const complaints = new Complaints("Secret clusterset-proxy/peer-c1");
  const annotations = value === undefined ? {} : { [ANNOTATION_DRAIN]: value };
  const drain = parseDrain({ metadata: { annotations } }, complaints);
  return { drain, problems: complaints.problems.map(problemText) };
}

test("a drain has a begin and an end, and may say by whom and why", () => {
  const whole = parse("from=2026-11-24T04:00:00Z; for=2h; by=ann; reason=kernel upgrade");
  const drain = { from: FROM, until: FROM + 2 * HOUR, by: "ann", reason: "kernel upgrade" };
  assert.deepEqual(whole, { drain, problems: [] });
  assert.deepEqual(parse(drainText(drain)), { drain, problems: [] });
  const bare = { from: FROM, until: FROM + 720 * HOUR };
  assert.deepEqual(parse("from=2026-11-24T04:00:00Z; for=30d"), { drain: bare, problems: [] });
  assert.deepEqual(parse(), { drain: undefined, problems: [] });
});

test("a drain without an end, with an invalid one, or of more than 30 days is a problem and no drain", () => {
  for (const text of [
    "true",
    "from=2026-11-24T04:00:00Z",
    "from=2026-11-24T04:00:00Z; for=31d",
    "from=2026-11-24T04:00:00Z; until=2026-11-24T06:00:00Z",
  ]) {
    const path = `metadata.annotations[${ANNOTATION_DRAIN}]`;
    const problem = `Secret clusterset-proxy/peer-c1: ${path}: invalid-drain: "${text}"`;
    assert.deepEqual(parse(text), { drain: undefined, problems: [problem] });
  }
});
