import assert from "node:assert/strict";
import { test } from "node:test";
import { CodedError } from "../../../common/errors.ts";
import { refusalOf } from "./refusal.ts";

const failed = (message: string) => new CodedError("CSP_EXEC_FAILED", message);

test("an element that the kernel rejects is a refusal, whichever way nft was started", () => {
  for (const start of ["nft: ", "nft -f -: exit status 1: /dev/stdin:1:1-3: "]) {
    const error = refusalOf(
      failed(`${start}Error: Could not process rule: File exists\nadd element`),
    );
    assert.ok(error instanceof CodedError);
    assert.deepEqual([error.code, error.rejected], ["CSP_NFT_REFUSED", true]);
    assert.equal(error.message, "nft: add elements: File exists");
  }
});

test("errors of nft itself, of the node and of a table that is gone stay as they are", () => {
  for (const message of [
    "nft: Error: syntax error, unexpected newline",
    "nft: Error: No such file or directory; did you mean table?",
    "nft: Error: Could not process rule: Cannot allocate memory",
    "nft: Error: Could not process rule: Operation not permitted",
  ]) {
    const error = failed(message);
    assert.equal(refusalOf(error), error);
  }
  const timeout = new CodedError(
    "CSP_EXEC_TIMEOUT",
    "nft: Error: Could not process rule: File exists",
  );
  assert.equal(refusalOf(timeout), timeout);
});
