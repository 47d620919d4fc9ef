import assert from "node:assert/strict";
import { test } from "node:test";
import { reasonOfStatus, retryAfterOf } from "./api-fault.ts";

test("every status has its reason", () => {
  const reasons = [400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504, 302, 204, 999].map(
    reasonOfStatus,
  );
  assert.deepEqual(reasons, [
    "refused",
    "unauthorized",
    "forbidden",
    "not-served",
    "refused",
    "expired",
    "refused",
    "throttled",
    "server-error",
    "server-error",
    "server-error",
    "garbage",
    "garbage",
    "garbage",
  ]);
});

test("Retry-After is seconds, and never more than five minutes", () => {
  assert.equal(retryAfterOf("0"), 0);
  assert.equal(retryAfterOf("7"), 7000);
  assert.equal(retryAfterOf("86400"), 300_000);
  for (const header of [undefined, "", "-1", "1.5", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"]) {
    assert.equal(retryAfterOf(header), undefined);
  }
});
