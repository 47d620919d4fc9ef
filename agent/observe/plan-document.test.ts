import assert from "node:assert/strict";
import { test } from "node:test";
import { parse, stringify } from "yaml";
import type { Reason } from "../../api/reasons.ts";
import { importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import type { Excluded, ImportPlan } from "../plan/import-plan.ts";
import { planImport } from "../plan/plan.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { planDocument, planText } from "./plan-document.ts";
import { summaryOf } from "./summary.ts";

const SERVE: ImportPlan = {
  importKey: "demo/serve",
  reason: "programmed",
  vips: [{ address: "241.0.0.7", reason: "programmed" }],
  services: [],
  excluded: [{ slice: "demo/serve-x", reason: "inactive", cluster: "c2" }],
};
const EMPTY: ImportPlan = {
  importKey: "demo/empty",
  reason: "no-vip",
  vips: [],
  services: [],
  excluded: [],
};

test("plans are one document in either format, complete and in order", () => {
  for (const plans of [[], [SERVE], [SERVE, EMPTY]]) {
    const json = [...planDocument(plans, "json")].join("");
    const yaml = [...planDocument(plans, "yaml")].join("");
    assert.deepEqual(JSON.parse(json), { imports: plans });
    assert.deepEqual(parse(yaml), { imports: plans });
    assert.ok(json.endsWith("\n") && yaml.endsWith("\n"));
  }
});

test("JSON has one import a line", () => {
  const lines = [...planDocument([SERVE, EMPTY], "json")].join("").split("\n");
  assert.deepEqual(JSON.parse(lines[1]?.replace(/,$/, "") ?? ""), SERVE);
});

test("a document is made while it is read, not before, in pieces of bounded size", () => {
  let made = 0;
  const plans = (function* (): Generator<ImportPlan> {
    for (;;) {
      made++;
      yield SERVE;
    }
  })();
  for (const output of ["json", "yaml"] as const) {
    made = 0;
    const [piece = ""] = planDocument(plans, output);
    assert.ok(made < 1000 && piece.length < 70_000, `${made} plans, ${piece.length} characters`);
  }
  const excluded = Array.from({ length: 10_000 }, () => ({ ...SERVE.excluded[0] })) as never;
  for (const output of ["json", "yaml"] as const) {
    for (const text of [planText, (plan: ImportPlan) => planDocument([plan], output)]) {
      for (const piece of text({ ...SERVE, excluded }, output)) assert.ok(piece.length < 70_000);
    }
  }
});

test("YAML has no anchors, although parts of the plan are shared", () => {
  const shared = { ...SERVE, excluded: [...SERVE.excluded, ...SERVE.excluded] };
  assert.doesNotMatch([...planText(shared, "yaml")].join(""), /[&*]a1/);
});

test("one plan is a document, as the libraries write it", () => {
  const fact = importFact({ vips: ["241.0.0.10", "241.0.0.11"], onEndpointDeath: "reset" });
  const near = sliceFact({ cluster: "c1", endpoints: ["10.1.0.1", "10.1.0.2"] });
  const far = sliceFact({ key: "demo/far", cluster: "c2", endpoints: ["10.2.0.1"] });
  const view = { key: fact.key, fact, slices: [near, far], heldBy: new Map() };
  for (const plan of [SERVE, EMPTY, planImport(view, nodeFact())]) {
    assert.equal([...planText(plan, "json")].join(""), `${JSON.stringify(plan, undefined, 2)}\n`);
    assert.equal(
      [...planText(plan, "yaml")].join(""),
      stringify(plan, { aliasDuplicateObjects: false, lineWidth: 0 }),
    );
  }
});

const HTTP: VirtualService = {
  importKey: "demo/serve",
  portName: "http",
  protocol: "TCP",
  port: 80,
  family: "IPv4",
  vips: ["241.0.0.7"],
  reason: "no-endpoint",
  endpoints: [],
};

function out(reason: Reason, port?: string): Excluded {
  const servicePort = port === undefined ? {} : { servicePort: `demo/serve:${port}` };
  return { slice: "demo/serve-a", reason, ...servicePort };
}

function excludedOf(services: readonly VirtualService[], excluded: readonly Excluded[]) {
  const vips = [{ address: "241.0.0.7", reason: "programmed" as const }];
  const plan: ImportPlan = {
    importKey: "demo/serve",
    reason: "programmed",
    vips,
    services,
    excluded,
  };
  return summaryOf(plan).ports.map((port) => port.excluded);
}

test("a port that rejects connections has the reasons of its own and of all ports, each once and in order", () => {
  const excluded = [
    out("port-not-exposed", "http"),
    out("not-ready", "http"),
    out("not-ready", "http"),
    out("terminating", "dns"),
    out("inactive"),
  ];
  assert.deepEqual(excludedOf([HTTP], excluded), [["inactive", "not-ready", "port-not-exposed"]]);
  assert.deepEqual(excludedOf([HTTP], []), [undefined]);
});

test("a port that accepts connections has no reasons for excluded endpoints", () => {
  const takes: VirtualService = { ...HTTP, tier: "local", reason: "nearest-ready" };
  assert.deepEqual(excludedOf([takes], [out("not-ready", "http")]), [undefined]);
});
