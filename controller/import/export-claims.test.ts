import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ANY_RECORDS, exportRecord, KEY } from "../../test/support/export-records.ts";
import { merge } from "../merge/merge.ts";
import type { Condition } from "../model/condition.ts";
import type { ExportRecord } from "../model/facts.ts";
import { type ExportSight, exportClaims } from "./export-claims.ts";
import { exportStatus } from "./status-manifest.ts";

interface Sight extends Partial<ExportSight> {
  readonly records?: readonly ExportRecord[];
}

function sight({ records = [exportRecord()], ...over }: Sight = {}): ExportSight {
  const merged = merge(records);
  return {
    valid: "Valid",
    publication: "published",
    registry: "mesh",
    isComplete: true,
    seen: [],
    ...(merged !== undefined && { merged }),
    ...over,
  };
}

/** `Valid True Valid`, one line a condition. */
function words(over: Sight): string[] {
  return exportClaims(sight(over)).map(({ type, status, reason }) => `${type} ${status} ${reason}`);
}

const CASES: readonly (readonly [string, Sight, readonly string[]])[] = [
  [
    "in a mesh: published is ready to be read",
    {},
    ["Valid True Valid", "Ready True Ready", "Conflict False NoConflicts"],
  ],
  [
    "on a hub: published is exported",
    { registry: "hub" },
    ["Valid True Valid", "Ready True Exported", "Conflict False NoConflicts"],
  ],
  [
    "not yet written",
    { publication: "pending" },
    ["Valid True Valid", "Ready False Pending", "Conflict False NoConflicts"],
  ],
  [
    "refused by the registry",
    { publication: "failed" },
    ["Valid True Valid", "Ready False Failed", "Conflict False NoConflicts"],
  ],
  [
    "with a registry out of reach",
    { publication: "unknown" },
    ["Valid True Valid", "Ready Unknown Pending", "Conflict False NoConflicts"],
  ],
  [
    "of no Service",
    { valid: "NoService" },
    ["Valid False NoService", "Ready False Pending", "Conflict False NoConflicts"],
  ],
  [
    "C12: of an ExternalName Service",
    { valid: "InvalidServiceType", publication: "pending" },
    ["Valid False InvalidServiceType", "Ready False Failed", "Conflict False NoConflicts"],
  ],
];

describe("conditions of an export", () => {
  for (const [name, over, expected] of CASES) {
    test(name, () => {
      assert.deepEqual(words(over), expected);
    });
  }
});

const DISAGREEING = [
  exportRecord(),
  exportRecord({
    cluster: "c2",
    exported: 2000,
    headless: true,
    ports: [{ name: "http", protocol: "TCP", port: 81 }],
  }),
  exportRecord({ cluster: "c3", exported: 3000 }),
];

test("every conflict is named with its field, the winner, and how many disagree", () => {
  const [, , conflict] = exportClaims(sight({ records: DISAGREEING }));
  assert.deepEqual(conflict, {
    type: "Conflict",
    status: "True",
    reason: "PortConflict,TypeConflict",
    message:
      `ports are united, the oldest export's (c1: "http 80/TCP") first; 1/3 clusters disagree. ` +
      `type is that of the oldest export, "ClusterSetIP" of c1; 1/3 clusters disagree.`,
  });
});

test("an export without a Service has no conflict, whatever the others say", () => {
  assert.ok(
    words({ valid: "NoService", records: DISAGREEING }).includes("Conflict False NoConflicts"),
  );
});

const SAID: Condition = {
  type: "Conflict",
  status: "True",
  reason: "LabelsConflict",
  message: "said before",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  observedGeneration: 1,
};

test("what was said of conflicts stays until everybody that exports the name was heard", () => {
  assert.ok(words({ isComplete: false, seen: [SAID] }).includes("Conflict True LabelsConflict"));
  assert.ok(words({ isComplete: true, seen: [SAID] }).includes("Conflict False NoConflicts"));
  assert.ok(
    words({ isComplete: false, records: DISAGREEING }).includes(
      "Conflict True PortConflict,TypeConflict",
    ),
  );
});

test("an API server takes every condition: reasons without blanks, messages that end", () => {
  fc.assert(
    fc.property(ANY_RECORDS, (records) => {
      for (const { reason, message } of exportClaims(sight({ records }))) {
        assert.match(reason, /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
        assert.ok(reason.length <= 1024 && message.length > 0 && message.length <= 32768);
      }
    }),
  );
});

test("the status holds our three conditions and no other, and is the same until something turns", () => {
  const other = { ...SAID, type: "Mesh.example/Ready" };
  const claims = exportClaims(sight());
  const object = exportStatus({ key: KEY, generation: 3, conditions: [SAID, other] }, claims, 1000);
  assert.equal(object.kind, "ServiceExport");
  assert.deepEqual(object.status, {
    conditions: claims.map((claim) => ({
      ...claim,
      lastTransitionTime: "1970-01-01T00:00:01Z",
      observedGeneration: 3,
    })),
  });
});
