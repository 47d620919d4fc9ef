import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PROPERTY_CLUSTER_ID, PROPERTY_REGION } from "../../api/keys.ts";
import type { ClusterSelector } from "../../api/tiers/cluster-selectors.ts";
import { tierIndex, tiersOf } from "../../api/tiers/tiers.ts";
import { nodeFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { anyHistory, applyEvent } from "../../test/generators/histories.ts";
import { anyProperties, anySelectors } from "../../test/generators/selectors.ts";
import type { ImportFact, NodeFact, SliceFact } from "../model/facts.ts";
import { type ImportView, Model } from "../model/model.ts";
import { parseImport } from "../model/parse-import.ts";
import type { ImportPlan } from "./import-plan.ts";
import { importerOf, originOf } from "./origin.ts";
import { planImport } from "./plan.ts";

/** What a person would write who wants the built-in tiers. */
const BUILT_IN: readonly ClusterSelector[] = [
  [{ key: PROPERTY_CLUSTER_ID, operator: "In", values: ["@SameAsImporter@"] }],
  [{ key: PROPERTY_REGION, operator: "In", values: ["@SameAsImporter@"] }],
];
const NAMES: Readonly<Record<string, string>> = {
  "selector-1": "local",
  "selector-2": "regional",
  remainder: "global",
};

const anyNode: fc.Arbitrary<NodeFact> = fc
  .record({
    cluster: fc.constantFrom("c1", undefined),
    region: fc.constantFrom("eu-west", undefined),
    properties: anyProperties,
    clusterRegions: fc.constantFrom(new Map(), new Map([["c2", "us-east"]])),
  })
  .map(({ cluster, region, properties, clusterRegions }) => {
    const { cluster: _, region: __, ...home } = nodeFact({ properties, clusterRegions });
    return { ...home, ...(cluster && { cluster }), ...(region && { region }) };
  });

/** The views that a random history ends with. */
const anyViews: fc.Arbitrary<readonly ImportView[]> = anyHistory.map((history) => {
  const model = new Model();
  for (const event of history.flat()) applyEvent(model, event);
  return [...model.keys()].flatMap((key) => model.view(key) ?? []);
});

function withSelectors(view: ImportView, selectors: ImportFact["selectors"]): ImportView {
  if (view.fact === undefined) return view;
  const { selectors: _, ...fact } = view.fact;
  return { ...view, fact: { ...fact, ...(selectors && { selectors }) } };
}

function renamed(plan: ImportPlan): unknown {
  return JSON.parse(JSON.stringify(plan), (key, value: unknown) =>
    key === "tier" && typeof value === "string" ? (NAMES[value] ?? value) : value,
  );
}

test("the built-in tiers, written as selectors, result in the same plan except for their names", () =>
  forAll([anyViews, anyNode], (views, node) => {
    for (const view of views) {
      const builtIn = planImport(withSelectors(view, undefined), node);
      const written = planImport(withSelectors(view, BUILT_IN), node);
      assert.deepEqual(renamed(written), JSON.parse(JSON.stringify(builtIn)));
    }
  }));

test("every endpoint has one tier, and takes connections or has a reason why not, with any selectors", () =>
  forAll([anyViews, anySelectors, anyNode], (views, selectors, node) => {
    const tiers = tiersOf({ selectors }, importerOf(node));
    const names = tiers.map(({ name }) => name);
    for (const view of views) {
      const plan = planImport(withSelectors(view, selectors), node);
      for (const slice of view.slices) {
        const origin = originOf(slice, node);
        const tier = tierIndex(origin, tiers);
        assert.ok(names[tier] !== undefined);
        assert.ok(tiers.slice(0, tier).every(({ matches }) => !matches(origin)));
        if (slice.cluster === undefined) assert.equal(names[tier], "remainder");
      }
      for (const service of plan.services) {
        const losers = plan.excluded.filter((e) => e.address && e.servicePort === portOf(service));
        for (const { tier } of losers) assert.ok(names.includes(tier ?? ""));
        if (service.endpoints.length > 0) assert.ok(names.includes(service.tier ?? ""));
        // One import has one plan for each port and family; names tell the families apart no more than rules do.
        const total = plan.services
          .filter((other) => portOf(other) === portOf(service))
          .reduce((sum, other) => sum + other.endpoints.length, losers.length);
        assert.equal(total, listening(view.slices, plan, service));
      }
    }
  }));

function portOf(service: { importKey: string; portName: string; port: number }): string {
  return `${service.importKey}:${service.portName || service.port}`;
}

/** Endpoints of the slices that count and expose the port. */
function listening(
  slices: readonly SliceFact[],
  plan: ImportPlan,
  { portName, protocol }: { portName: string; protocol: string },
): number {
  const families = new Set(plan.services.map(({ family }) => family));
  return slices
    .filter(({ active, family }) => active && families.has(family))
    .filter(({ ports }) => ports.some((p) => p.name === portName && p.protocol === protocol))
    .reduce((sum, { endpoints }) => sum + [...endpoints].length, 0);
}

test("there are few tier names, whatever the selectors", () => {
  const most = Array(16).fill({ propertySelector: { matchProperties: { env: "x" } } });
  const { fact } = parseImport({
    metadata: { namespace: "demo", name: "serve" },
    spec: { type: "ClusterSetIP", clusterSelectors: most },
  });
  const names = tiersOf(fact ?? {}, importerOf(nodeFact())).map(({ name }) => name);
  assert.deepEqual(names, [
    ...Array.from({ length: 16 }, (_, i) => `selector-${i + 1}`),
    "remainder",
  ]);
});
