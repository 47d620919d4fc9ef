import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { logLines } from "../../test/support/log-lines.ts";
import { ControllerMetrics } from "./metrics.ts";
import { Observer } from "./observer.ts";

const MESSAGE = "The Lease of the election is not reached; without it, nobody writes.";

test("that the Lease of an election is not reached is a warning, once a reason, and again after it was reached", () => {
  const { log, lines } = logLines();
  const observer = new Observer(log, new ControllerMetrics());
  const fail = (reason: "forbidden" | "unreachable" | "write-conflict") =>
    observer.electionFailed(new ApiFault(reason, "as it is"));
  fail("forbidden");
  fail("forbidden");
  assert.deepEqual(lines, [MESSAGE]);
  fail("unreachable");
  assert.deepEqual(lines, [MESSAGE, MESSAGE]);
  observer.leader({ reason: "leader", holder: "me" });
  // Another replica was first, as happens.
  fail("write-conflict");
  assert.equal(lines.length, 2);
  fail("unreachable");
  assert.equal(lines.length, 3);
});
