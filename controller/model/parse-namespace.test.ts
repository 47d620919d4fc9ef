import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNamespace } from "./parse-namespace.ts";

const metadata = { name: "demo", uid: "u1" };

test("a Namespace has a name and a uid", () => {
  const { fact, problems } = parseNamespace({ metadata, status: { phase: "Active" } });
  assert.deepEqual(fact, { name: "demo", uid: "u1", terminating: false });
  assert.deepEqual(problems, []);
});

test("a terminating Namespace has a timestamp or a phase", () => {
  const going = { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
  for (const object of [{ metadata: going }, { metadata, status: { phase: "Terminating" } }]) {
    assert.equal(parseNamespace(object).fact?.terminating, true);
  }
});

test("a Namespace with an invalid name or without uid gives no fact", () => {
  for (const [object, problem] of [
    [{ metadata: { ...metadata, name: "a.b" } }, "invalid-name metadata.name"],
    [{ metadata: { name: "demo" } }, "invalid-object metadata.uid"],
    [null, "invalid-name metadata.name"],
  ] as const) {
    const { fact, problems } = parseNamespace(object);
    assert.equal(fact, undefined);
    assert.deepEqual(
      problems.map(({ reason, field }) => `${reason} ${field}`),
      [problem],
    );
  }
});
