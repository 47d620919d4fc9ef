import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabelName, isLabelValue, isSubdomainName, objectKey } from "../../api/names.ts";
import { forAll } from "../../test/generators/for-all.ts";
import {
  recordLabel,
  recordName,
  registryNamespace,
  serviceOfRecord,
  serviceOfSlice,
  sliceName,
} from "./names.ts";

const LONG = "a".repeat(63);
const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const service = fc.tuple(label, label).map(([namespace, name]) => objectKey(namespace, name));

test("a registry's namespace is named after the cluster ID", () => {
  assert.equal(registryNamespace("c1"), "clusterset-registry-c1");
});

test("long IDs and IDs with a dot have unique namespaces", () => {
  const ids = [LONG, `${LONG.slice(1)}b`, "eu.c1", "eu-c1", `${"a".repeat(31)}.${"b".repeat(31)}`];
  const namespaces = ids.map(registryNamespace);
  for (const namespace of namespaces) assert.ok(isLabelName(namespace), namespace);
  assert.equal(new Set(namespaces).size, ids.length);
});

test("the Service follows from the name of a record or slice, and from no other name", async () => {
  await forAll([service, fc.nat(400)], (key, index) => {
    assert.equal(serviceOfRecord(recordName(key)), key);
    assert.equal(serviceOfSlice(sliceName(key, "IPv6", index)), key);
    assert.ok(isSubdomainName(sliceName(key, "IPv4", index)));
    assert.ok(isLabelValue(recordLabel(key)));
  });
  for (const name of ["", ".", "a", "a.", ".b", "a.b.", "a.b.c.d", "A.b.v4-0"]) {
    assert.equal(serviceOfSlice(name), undefined);
  }
  for (const name of ["", "a", "a.b.c", "A.b", "a/b.c"])
    assert.equal(serviceOfRecord(name), undefined);
});

test("two long names that begin alike have different labels", () => {
  const keys = [`${LONG}/${LONG}`, `${LONG.slice(1)}b/${LONG}`] as const;
  assert.notEqual(recordLabel(keys[0]), recordLabel(keys[1]));
  for (const key of keys) assert.ok(isLabelValue(recordLabel(key)));
});
