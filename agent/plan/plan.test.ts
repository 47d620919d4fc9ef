import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { PROPERTY_CLUSTER_ID, PROPERTY_REGION } from "../../api/keys.ts";
import type { ClusterSelector } from "../../api/tiers/cluster-selectors.ts";
import { tierIndex, tiersOf } from "../../api/tiers/tiers.ts";
import { cidr, importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { anyHistory, applyEvent } from "../../test/generators/histories.ts";
import { anyProperties, anySelectors } from "../../test/generators/selectors.ts";
import type { ImportFact, NodeFact, SliceFact } from "../model/facts.ts";
import { type ImportView, Model } from "../model/model.ts";
import { parseImport } from "../model/parse-import.ts";
import type { ImportPlan } from "./import-plan.ts";
import { importerOf, originOf } from "./origin.ts";
import { planImport } from "./plan.ts";

const HTTP = { name: "http", protocol: "TCP", port: 80 } as const;
const DNS = { name: "dns", protocol: "UDP", port: 53 } as const;

/** The plan of demo/serve, seen from node n1 of cluster c1 in eu-west. */
function plan(
  imports: readonly ImportFact[],
  slices: readonly SliceFact[] = [],
  node: NodeFact = nodeFact(),
): ImportPlan {
  const model = new Model();
  model.listed();
  for (const fact of imports) model.setImport(fact, 0);
  for (const fact of slices) model.setSlice(fact, 0);
  const view = model.view("demo/serve");
  assert.ok(view);
  return planImport(view, node);
}

/** `vips port -> tier endpoints`, one line a service. */
function lines({ services }: ImportPlan): string[] {
  return services.map(({ vips, protocol, port, tier, reason, endpoints }) => {
    const to = endpoints.map((e) => `${e.address}:${e.port}`).join(" ");
    return `${vips.join(",")} ${protocol} ${port} -> ${tier ?? reason} ${to}`.trim();
  });
}

describe("an import", () => {
  const REASONS: readonly (readonly [reason: string, facts: readonly ImportFact[]])[] = [
    ["programmed", [importFact()]],
    ["no-vip", [importFact({ vips: [] })]],
    ["no-port", [importFact({ ports: [] })]],
    ["headless", [importFact({ headless: true })]],
    ["headless", [importFact({ headless: true, vips: [] })]],
    ["not-imported", []],
    ["vip-reserved", [importFact({ vips: ["10.96.0.1"] })]],
    ["vip-reserved", [importFact({ vips: ["10.96.0.1", "10.97.0.1"] })]],
    ["programmed", [importFact({ vips: ["10.96.0.1", "241.0.0.1"] })]],
    ["vip-conflict", [importFact({ key: "demo/first" }), importFact()]],
  ];
  for (const [reason, facts] of REASONS) {
    const vips = facts.at(-1)?.vips.map(({ text }) => text) ?? [];
    test(`with VIPs ${vips.join(" ") || "none"} is ${reason}`, () => {
      const planned = plan(facts, [sliceFact()]);
      assert.equal(planned.reason, reason);
      assert.equal(planned.services.length, reason === "programmed" ? 1 : 0);
    });
  }

  test("that lost a VIP names the holder, and keeps the others", () => {
    const planned = plan([
      importFact({ key: "demo/first", vips: ["241.0.0.1"] }),
      importFact({ vips: ["241.0.0.1", "241.0.0.2"] }),
    ]);
    assert.equal(planned.reason, "programmed");
    assert.deepEqual(planned.vips, [
      { address: "241.0.0.1", reason: "vip-conflict", heldBy: "demo/first" },
      { address: "241.0.0.2", reason: "programmed" },
    ]);
    assert.deepEqual(planned.services[0]?.vips, ["241.0.0.2"]);
  });

  test("has a service for each port and family, with the VIPs of the family", () => {
    const planned = plan(
      [
        importFact({
          vips: ["241.0.0.1", "fd00:241::1", "1.2.3.4"],
          ports: [HTTP, DNS],
        }),
      ],
      [
        sliceFact({ key: "demo/4", cluster: "c1", endpoints: ["10.1.0.1"] }),
        sliceFact({ key: "demo/6", cluster: "c2", family: "IPv6", endpoints: ["fd10:2::1"] }),
      ],
    );
    assert.deepEqual(lines(planned), [
      "241.0.0.1,1.2.3.4 TCP 80 -> local 10.1.0.1:8080",
      "241.0.0.1,1.2.3.4 UDP 53 -> no-endpoint",
      "fd00:241::1 TCP 80 -> global fd10:2::1:8080",
      "fd00:241::1 UDP 53 -> no-endpoint",
    ]);
  });
});

describe("tiers are of a port, not of an import", () => {
  test("a port that only a far cluster exposes is that cluster's, though another port is local", () => {
    const planned = plan(
      [importFact({ ports: [HTTP, DNS] })],
      [
        sliceFact({ key: "demo/a", cluster: "c1", endpoints: ["10.1.0.1"] }),
        sliceFact({
          key: "demo/b",
          cluster: "c3",
          endpoints: ["10.3.0.1"],
          ports: [
            { name: "http", protocol: "TCP", port: 9090 },
            { name: "dns", protocol: "UDP", port: 5353 },
          ],
        }),
      ],
    );
    assert.deepEqual(lines(planned), [
      "241.0.0.10 TCP 80 -> local 10.1.0.1:8080",
      "241.0.0.10 UDP 53 -> global 10.3.0.1:5353",
    ]);
    assert.deepEqual(planned.excluded, [
      {
        slice: "demo/b",
        address: "10.3.0.1",
        tier: "global",
        cluster: "c3",
        servicePort: "demo/serve:http",
        reason: "farther-tier",
      },
      {
        slice: "demo/a",
        cluster: "c1",
        servicePort: "demo/serve:dns",
        reason: "port-not-exposed",
      },
    ]);
  });
});

describe("a slice", () => {
  test("that is not active is excluded as a whole", () => {
    const planned = plan([importFact()], [sliceFact({ active: false, cluster: "c1" })]);
    assert.deepEqual(lines(planned), ["241.0.0.10 TCP 80 -> no-endpoint"]);
    assert.deepEqual(planned.excluded, [
      { slice: "demo/serve-x", cluster: "c1", reason: "inactive" },
    ]);
  });

  test("of a family without a VIP of the import is excluded as a whole", () => {
    const six = sliceFact({ family: "IPv6", endpoints: ["fd10:1::1"] });
    assert.deepEqual(plan([importFact()], [six]).excluded, [
      { slice: "demo/serve-x", reason: "other-family" },
    ]);
  });

  test("of unknown origin is global, whatever its addresses, with a remark", () => {
    const here = { address: "10.1.0.5", condition: "ready", nodeName: "n1" } as const;
    const planned = plan(
      [importFact()],
      [
        sliceFact({ key: "demo/copied", region: "eu-west", endpoints: [here] }),
        sliceFact({ key: "demo/told", cluster: "c2", region: "eu-west", endpoints: ["10.2.0.1"] }),
      ],
    );
    assert.deepEqual(lines(planned), ["241.0.0.10 TCP 80 -> regional 10.2.0.1:8080"]);
    assert.deepEqual(planned.remarks, [{ slice: "demo/copied", reason: "origin-unknown" }]);
    assert.equal(planned.excluded[0]?.tier, "global");
  });
});

test("the same address with two target ports is two destinations", () => {
  const other = [{ name: "http", protocol: "TCP", port: 9090 }] as const;
  const planned = plan(
    [importFact()],
    [sliceFact({ key: "demo/a" }), sliceFact({ key: "demo/b", ports: other })],
  );
  assert.deepEqual(lines(planned), ["241.0.0.10 TCP 80 -> global 10.2.0.1:8080 10.2.0.1:9090"]);
});

test("a family without a ClusterSet CIDR is not programmed", () => {
  const node = nodeFact({ clusterSetCidrs: [cidr("241.0.0.0/8")] });
  const planned = plan([importFact({ vips: ["241.0.0.1", "fd00:241::1"] })], [], node);
  assert.deepEqual(
    planned.services.map(({ family }) => family),
    ["IPv4"],
  );
  assert.deepEqual(planned.vips.at(1), { address: "fd00:241::1", reason: "family-off" });
});

test("an import of 150,000 endpoints is planned like any other", () => {
  const slices = Array.from({ length: 150 }, (_, s) =>
    sliceFact({
      key: `demo/s${s}`,
      cluster: s === 0 ? "c1" : "c3",
      endpoints: Array.from({ length: 1000 }, (_e, e) => `10.${s}.${e >> 8}.${e & 255}`),
    }),
  );
  const planned = plan([importFact()], slices);
  assert.equal(planned.services[0]?.endpoints.length, 1000);
  assert.equal(planned.excluded.length, 149_000);
});

describe("slices of another writer, beside those of our controller", () => {
  /** What another implementation left behind: ready for ever. */
  const frozen = (key: SliceFact["key"], cluster: string | undefined, endpoint: string) =>
    sliceFact({
      key,
      endpoints: [endpoint],
      ...(cluster !== undefined && { cluster }),
    });
  const ours = sliceFact({
    key: "demo/serve.c2",
    cluster: "c2",
    ours: true,
    endpoints: [{ address: "10.2.0.1", condition: "not-ready" }, "10.2.0.2"],
  });
  const excluded = ({ excluded: found }: ImportPlan) =>
    found.map(({ slice, reason }) => `${slice} ${reason}`);

  test("are not used for a cluster of which ours exist, so that their dead endpoints get nothing", () => {
    const planned = plan([importFact()], [ours, frozen("demo/imported-1", "c2", "10.2.0.1")]);
    assert.deepEqual(lines(planned), ["241.0.0.10 TCP 80 -> global 10.2.0.2:8080"]);
    assert.deepEqual(excluded(planned), ["demo/imported-1 superseded", "demo/serve.c2 not-ready"]);
  });

  test("are used for other clusters, for one that is not named, and where ours are inactive", () => {
    for (const slices of [
      [ours, frozen("demo/imported-1", "c3", "10.3.0.1")],
      [ours, frozen("demo/imported-1", undefined, "10.3.0.1")],
    ]) {
      assert.deepEqual(lines(plan([importFact()], slices)), [
        "241.0.0.10 TCP 80 -> global 10.2.0.2:8080 10.3.0.1:8080",
      ]);
    }
    const inactive = [{ ...ours, active: false }, frozen("demo/imported-1", "c2", "10.2.0.1")];
    assert.deepEqual(lines(plan([importFact()], inactive)), [
      "241.0.0.10 TCP 80 -> global 10.2.0.1:8080",
    ]);
  });

  test("are not used either if ours say that the cluster has no endpoint", () => {
    const none = sliceFact({ key: "demo/serve.c2", cluster: "c2", ours: true, endpoints: [] });
    const planned = plan([importFact()], [none, frozen("demo/imported-1", "c2", "10.2.0.1")]);
    assert.deepEqual(lines(planned), ["241.0.0.10 TCP 80 -> no-endpoint"]);
  });
});

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
