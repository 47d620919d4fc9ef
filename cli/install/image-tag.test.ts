import assert from "node:assert/strict";
import { test } from "node:test";
import { withTag } from "./image-tag.ts";

test("the tag is replaced, and a registry's port is none", () => {
  assert.equal(
    withTag("registry:5000/team/agent:0.1.0", "0.2.0"),
    "registry:5000/team/agent:0.2.0",
  );
  assert.equal(withTag("registry:5000/agent", "0.2.0"), "registry:5000/agent:0.2.0");
  assert.equal(withTag("agent@sha256:1234", "0.2.0"), undefined);
});
