import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ANY_RECORDS, exportRecord, KEY } from "../../test/generators/export-records.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { merge } from "../merge/merge.ts";
import type { Condition } from "../model/condition.ts";
import type { ExportRecord } from "../model/facts.ts";
import { type ExportInput, exportClaims } from "./export-claims.ts";
import { exportStatus } from "./status-manifest.ts";

interface Sight extends Partial<ExportInput> {
  readonly records?: readonly ExportRecord[];
}

function input({ records = [exportRecord()], ...over }: Sight = {}): ExportInput {
  const merged = merge(records);
  return {
    valid: "Valid",
    publication: "published",
    omitted: [],
    registry: "mesh",
    isComplete: true,
    seen: [],
    ...(merged !== undefined && { merged }),
    ...over,
  };
}

/** `Valid True Valid`, one line per condition. */
function words(over: Sight): string[] {
  return exportClaims(input(over)).map(({ type, status, reason }) => `${type} ${status} ${reason}`);
}

/** By name: what is seen, and the conditions Valid and Ready; none is in conflict. */
const CASES: Readonly<Record<string, readonly [Sight, valid: string, ready: string]>> = {
  "in a mesh: published is ready to be read": [{}, "Valid True Valid", "Ready True Ready"],
  "on a hub: published is exported": [
    { registry: "hub" },
    "Valid True Valid",
    "Ready True Exported",
  ],
  "not yet written": [{ publication: "pending" }, "Valid True Valid", "Ready False Pending"],
  "refused by the registry": [{ publication: "failed" }, "Valid True Valid", "Ready False Failed"],
  "with a registry out of reach": [
    { publication: "unknown" },
    "Valid True Valid",
    "Ready Unknown Pending",
  ],
  "of no Service": [{ valid: "NoService" }, "Valid False NoService", "Ready False Pending"],
  "C12: of an ExternalName Service": [
    { valid: "InvalidServiceType", publication: "pending" },
    "Valid False InvalidServiceType",
    "Ready False Failed",
  ],
};

describe("conditions of an export", () => {
  for (const [name, [over, ...expected]] of Object.entries(CASES)) {
    test(name, () => {
      assert.deepEqual(words(over), [...expected, "Conflict False NoConflicts"]);
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

test("every conflict is reported with its field, the winner, and the number of clusters that disagree", () => {
  const [, , conflict] = exportClaims(input({ records: DISAGREEING }));
  assert.deepEqual(conflict, {
    type: "Conflict",
    status: "True",
    reason: "PortConflict,TypeConflict",
    message:
      `ports are merged, the oldest export's (c1: "http 80/TCP") first; 1/3 clusters disagree. ` +
      `type is taken from the oldest export, "ClusterSetIP" of c1; 1/3 clusters disagree.`,
  });
});

test("an export without a Service has no conflict, whatever other clusters export", () => {
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

test("the condition Conflict stays until all exporters are known", () => {
  assert.ok(words({ isComplete: false, seen: [SAID] }).includes("Conflict True LabelsConflict"));
  assert.ok(words({ isComplete: true, seen: [SAID] }).includes("Conflict False NoConflicts"));
  assert.ok(
    words({ isComplete: false, records: DISAGREEING }).includes(
      "Conflict True PortConflict,TypeConflict",
    ),
  );
});

test("conditions are valid in the API: reasons without blanks, messages of limited length", () =>
  forAll([ANY_RECORDS], (records) => {
    for (const { reason, message } of exportClaims(input({ records }))) {
      assert.match(reason, /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
      assert.ok(reason.length <= 1024 && message.length > 0 && message.length <= 32768);
    }
  }));

test("the status has our three conditions only, and changes only with them", () => {
  const other = { ...SAID, type: "Mesh.example/Ready" };
  const claims = exportClaims(input());
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
