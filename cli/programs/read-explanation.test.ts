import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "../clusters/cluster.ts";
import { exportRemarks, nodeRemarks } from "./read-explanation.ts";

const GOOD = [
  { type: "Valid", status: "True", reason: "Valid", message: "The Service is exported." },
  { type: "Conflict", status: "False", reason: "NoConflicts", message: "All agree." },
];

/** A cluster whose ServiceExport shop/web has these conditions. */
function cluster(context: string, conditions: readonly unknown[]): Cluster {
  const object = { status: { conditions } };
  return { context, objects: { get: () => Promise.resolve({ object }) } } as never;
}

test("remarks on exports: what the registry rejects, what is left out of one that is ready, and none that is well", async () => {
  const ready = (status: string, reason: string, message: string) => [
    ...GOOD,
    { type: "Ready", status, reason, message },
  ];
  const clusters = [
    cluster("well", ready("True", "Ready", "Published.")),
    cluster("part", ready("True", "Ready", "Published. Left out: reserved-key.")),
    cluster("full", ready("False", "Failed", "The registry rejects it: refused: quota")),
    cluster("new", []),
  ];
  const { signal } = new AbortController();
  assert.deepEqual(await exportRemarks(clusters, "shop/web", signal), [
    "ServiceExport in part: Ready, Published. Left out: reserved-key.",
    "ServiceExport in full: Failed, The registry rejects it: refused: quota",
    "ServiceExport in new: Pending, it has no condition: no controller has processed it",
  ]);
});

test("remarks on a node whose agent is of 0.2.0: its checks are not known", async () => {
  const pod = { program: "agent", name: "a1", node: "n1", ready: true } as const;
  const { signal } = new AbortController();
  const answering = (text: string) => ({ page: () => Promise.resolve({ text }) }) as never;
  assert.deepEqual(await nodeRemarks(answering("Not found. Pages: /healthz\n"), pod, signal), [
    "Agent of n1: checks not known, not-served, the agent has no /status: it is of 0.2.0 or earlier. Upgrade it",
  ]);
});
