import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest } from "./command-line.ts";

const words = ["run", "plan", "render", "cleanup", "cluster-id", "cluster-regions"];

test("one typing error finds the intended word", () => {
  for (const slip of ["paln", "pla", "plann", "plam"]) assert.equal(nearest(slip, words), "plan");
  assert.equal(nearest("cluster_id", words), "cluster-id");
  assert.equal(nearest("clean-up", words), "cleanup");
  assert.equal(nearest("plan", words), "plan");
});

test("a word that is similar to none finds none", () => {
  for (const other of ["", "x", "frobnicate", "demo/serve"]) {
    assert.equal(nearest(other, words), undefined, other);
  }
});
