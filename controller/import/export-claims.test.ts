import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { objectKey } from "../../api/names.ts";
import {
  ANY_RECORDS,
  exportRecord,
  KEY,
  servicePort,
} from "../../test/generators/export-records.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { merge } from "../merge/merge.ts";
import type { Condition } from "../model/condition.ts";
import type { ExportRecord, SliceFact } from "../model/facts.ts";
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
    offered: [],
    areRangesKnown: true,
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

const VALID = "Valid True Valid";

/** By name: what is seen, and the conditions Valid and Ready; none is in conflict. */
const CASES: Readonly<Record<string, readonly [Sight, valid: string, ready: string]>> = {
  "in a mesh: published is ready to be read": [{}, VALID, "Ready True Ready"],
  "on a hub: published is exported": [{ registry: "hub" }, VALID, "Ready True Exported"],
  "not yet written": [{ publication: "pending" }, VALID, "Ready False Pending"],
  "refused by the registry": [{ publication: "failed" }, VALID, "Ready False Failed"],
  "with a registry out of reach": [{ publication: "unknown" }, VALID, "Ready Unknown Pending"],
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

/** An export of c2, which is younger, with this published slice; c1 has `http 80` and IPv4. */
function younger(over: Partial<ExportRecord>, slice: Partial<SliceFact> = {}): Sight {
  const record = exportRecord({ cluster: "c2", exported: 2000, ...over });
  const endpoint = { address: "10.2.0.7", ready: false, serving: false, terminating: false };
  const offered: SliceFact = {
    key: objectKey("clusterset-registry-c2", "serve.demo.0"),
    service: KEY,
    family: "IPv4",
    ports: record.ports,
    endpoints: [endpoint],
    ...slice,
  };
  return { records: [exportRecord(), record], record, offered: [offered] };
}

const RENUMBERED = younger({ ports: [servicePort("http 8080")] });

test("an export whose endpoints are all left out says why, ready or not, in a mesh and on a hub", () => {
  const why =
    `The import's ports are "http 80/TCP", this Service's "http 8080/TCP". A port is used if it has the same number and protocol, ` +
    "and is not another port by its name. Left out: port-not-merged.";
  for (const [registry, place] of [
    ["mesh", "this cluster's registry"],
    ["hub", "the hub"],
  ] as const) {
    const [, ready] = exportClaims(input({ ...RENUMBERED, registry }));
    assert.deepEqual(ready, {
      type: "Ready",
      status: "False",
      reason: "EndpointsLeftOut",
      message: `Published to ${place}, but no cluster uses an endpoint of it. ${why}`,
    });
  }
});

const TWO = [servicePort("web 80"), servicePort("http 81")];

/** What c2 exports, and its condition Ready. */
const USED: Readonly<Record<string, readonly [Sight, string]>> = {
  "another name of the port": [younger({ ports: [servicePort("web 80")] }), "True Ready"],
  "one of two ports": [younger({ ports: TWO }), "True Ready"],
  "one of two ports, in a slice without it": [
    younger({ ports: TWO }, { ports: TWO.slice(1) }),
    "False EndpointsLeftOut",
  ],
  "no port": [younger({ headless: true, ports: [] }), "False EndpointsLeftOut"],
  "another family": [younger({ families: ["IPv6"] }, { family: "IPv6" }), "False EndpointsLeftOut"],
  "no endpoint": [{ ...RENUMBERED, offered: [] }, "True Ready"],
  "an unpublished change": [{ ...RENUMBERED, publication: "failed" }, "False Failed"],
};

for (const [name, [sight, ready]] of Object.entries(USED)) {
  test(`an export with ${name} is ${ready}`, () => {
    assert.equal(words(sight)[1], `Ready ${ready}`);
  });
}

test("while an exporter may be unknown, an export is not said to be left out, and not said to be used", () => {
  const isComplete = false;
  assert.equal(words({ ...RENUMBERED, isComplete })[1], "Ready True Ready");
  const [, said] = exportClaims(input(RENUMBERED));
  assert.ok(said !== undefined);
  const seen = [{ ...said, lastTransitionTime: "", observedGeneration: 1 }];
  const alone = { ...RENUMBERED, records: [exportRecord({ cluster: "c2" })], isComplete, seen };
  assert.deepEqual(exportClaims(input(alone))[1], said);
  assert.equal(words({ ...alone, offered: [] })[1], "Ready True Ready");
});

const OUTSIDE = {
  count: 1,
  of: 3,
  example: "192.0.2.7",
  by: "the hub",
  ranges: "10.2.0.0/16",
  everywhere: new Set(["192.0.2.7"]),
};
const REJECTED =
  '1 of 3 endpoints, such as 192.0.2.7, is outside the endpoint CIDRs that the hub declares for this cluster: "10.2.0.0/16".';

test("endpoints that other clusters reject are reported with their number and one address", () => {
  const omitted = ["outside-endpoint-cidrs"] as const;
  const why = `${REJECTED} Left out: outside-endpoint-cidrs.`;
  const some = { ...younger({}), outside: OUTSIDE, omitted };
  const [, ready] = exportClaims(input(some));
  assert.equal(ready?.reason, "Ready");
  assert.equal(ready?.message, `Published to this cluster's registry. ${why}`);
  const [, none] = exportClaims(input({ ...some, offered: [] }));
  assert.equal(none?.reason, "EndpointsLeftOut");
  const unused =
    "Published to this cluster's registry, but no other cluster uses an endpoint of it.";
  assert.equal(none?.message, `${unused} ${why}`);
  const [, both] = exportClaims(input({ ...RENUMBERED, outside: OUTSIDE, omitted }));
  assert.equal(both?.reason, "EndpointsLeftOut");
  const wholly = /1 of 3 .* Left out: outside-endpoint-cidrs, port-not-merged\.$/;
  assert.match(both?.message ?? "", wholly);
});

test("until it is known what all clusters reject, that it does so stays reported, and nothing else does", () => {
  const omitted = ["outside-endpoint-cidrs"] as const;
  const [, said] = exportClaims(input({ ...younger({}), outside: OUTSIDE, offered: [], omitted }));
  assert.ok(said !== undefined);
  const seen = [{ ...said, lastTransitionTime: "", observedGeneration: 1 }];
  const later = { ...younger({}), seen };
  assert.deepEqual(exportClaims(input({ ...later, areRangesKnown: false }))[1], said);
  assert.equal(words(later)[1], "Ready True Ready");
  assert.equal(words({ ...younger({}), areRangesKnown: false })[1], "Ready True Ready");
});

const DISAGREEING = [
  exportRecord(),
  exportRecord({ cluster: "c2", exported: 2000, headless: true, ports: TWO.slice(1) }),
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
  const [, , conflict] = words({ valid: "NoService", records: DISAGREEING });
  assert.equal(conflict, "Conflict False NoConflicts");
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
  const conflict = (sight: Sight) => words(sight)[2];
  const [early, disagreeing] = [{ isComplete: false }, { records: DISAGREEING }];
  assert.equal(conflict({ ...early, seen: [SAID] }), "Conflict True LabelsConflict");
  assert.equal(conflict({ seen: [SAID] }), "Conflict False NoConflicts");
  assert.equal(conflict({ ...early, ...disagreeing }), "Conflict True PortConflict,TypeConflict");
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
