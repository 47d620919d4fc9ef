import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectKey } from "../../api/names.ts";
import { cidr, importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import { type ImportView, Model } from "../model/model.ts";
import { Plans } from "./desired-state.ts";

const KEY = "demo/serve";

function plansOf(endpoints: readonly string[]) {
  const model = new Model();
  model.setImport(importFact({ vips: ["241.0.0.10", "fd00:241::10"] }), 0);
  model.setSlice(sliceFact({ key: "demo/four", cluster: "c1", endpoints }), 0);
  return { model, plans: new Plans(model, nodeFact(), { confirm: (_, services) => services }) };
}

test("one change is planned once, for the report and for every family", () => {
  const { plans } = plansOf(["10.1.0.1"]);
  const planned = plans.plan(KEY)?.services ?? [];
  const taken = [plans.of("IPv4"), plans.of("IPv6")].flatMap((one) => one.services(KEY).services);
  assert.equal(taken.length, 2);
  for (const service of taken) assert.ok(planned.includes(service), "the very same object");
});

test("the same services can be planned again after the facts have changed", () => {
  const { model, plans } = plansOf(["10.1.0.1"]);
  const { services, again } = plans.of("IPv4").services(KEY);
  model.setSlice(sliceFact({ key: "demo/four", cluster: "c1", endpoints: ["10.1.0.9"] }), 1);
  plans.plan(KEY);
  assert.deepEqual(again(), services);
  assert.notDeepEqual(plans.of("IPv4").services(KEY).services, services);
});

test("a VIP that flags do not allow gives services only as if they did, in its own family", () => {
  const { model, plans } = plansOf(["10.1.0.1"]);
  const names = (family: "IPv4" | "IPv6") => {
    const state = plans.of(family);
    return [state.services(KEY).services, state.servicesIfAllowed(KEY)].map((services) =>
      services.flatMap(({ vips }) => vips),
    );
  };
  assert.deepEqual(names("IPv4"), [["241.0.0.10"], ["241.0.0.10"]]);
  plans.setNode(nodeFact({ clusterSetCidrs: [cidr("242.0.0.0/8"), cidr("fd00:241::/108")] }));
  assert.deepEqual(names("IPv4"), [[], ["241.0.0.10"]]);
  assert.deepEqual(names("IPv6"), [["fd00:241::10"], ["fd00:241::10"]]);
  plans.setNode(nodeFact({ clusterSetCidrs: [cidr("fd00:242::/108")] }));
  assert.deepEqual(names("IPv4"), [[], []], "a family without a range is disabled");
  assert.deepEqual(names("IPv6"), [[], ["fd00:241::10"]]);
  model.removeImport(KEY, 1);
  plans.setNode(nodeFact());
  assert.deepEqual(names("IPv4"), [[], []]);
});

test("the shifts of an import that is gone are forgotten", () => {
  const model = new Model();
  const gone: ObjectKey[] = [];
  const shifts = { view: (view: ImportView) => view, gone: (key: ObjectKey) => gone.push(key) };
  const plans = new Plans(model, nodeFact(), { confirm: (_, services) => services }, shifts);
  model.setSlice(sliceFact({ key: "demo/four", cluster: "c1", endpoints: [] }), 0);
  plans.plan(KEY);
  assert.deepEqual(gone, []);
  model.removeSlice("demo/four", 1);
  plans.plan(KEY);
  assert.deepEqual(gone, [KEY]);
});

test("only recent plans stay in memory; an older import is planned again when it is requested", () => {
  const { model, plans } = plansOf(["10.1.0.1"]);
  const first = plans.plan(KEY);
  for (let i = 0; i < 300; i++) {
    const key: ObjectKey = `demo/s${i}`;
    model.setImport(importFact({ key, vips: [`241.1.${i >> 8}.${i & 255}`] }), 0);
    plans.plan(key);
  }
  const again = plans.of("IPv4").services(KEY).services;
  assert.deepEqual(
    again,
    first?.services.filter(({ family }) => family === "IPv4"),
  );
  assert.ok(again.every((service) => !first?.services.includes(service)));
});

test("few plans with many endpoints stay in memory", () => {
  const { model, plans } = plansOf([]);
  const endpoints = Array.from({ length: 1000 }, (_, i) => `10.1.${i >> 8}.${i & 255}`);
  const keys = Array.from({ length: 100 }, (_, i): ObjectKey => `demo/s${i}`);
  for (const [i, key] of keys.entries()) {
    model.setImport(importFact({ key, vips: [`241.1.0.${i}`] }), 0);
    model.setSlice(sliceFact({ key: `${key}-x`, importKey: key, endpoints }), 0);
  }
  const first = keys.map((key) => plans.plan(key)?.services[0]);
  const again = keys.map((key) => plans.of("IPv4").services(key).services[0]);
  const kept = again.filter((service, i) => service === first[i]);
  assert.deepEqual(again, first);
  assert.ok(kept.length <= 50, `${kept.length} of 100 plans`);
});

test("a tier stays in use with a little less than min-ready, and comes back with all of it", () => {
  const { model, plans } = plansOf([]);
  const minReady = { endpoints: 4 };
  model.setImport(importFact({ minReady }), 0);
  const list = (cluster: string, ready: number) => {
    const endpoints = Array.from({ length: 8 }, (_, i) => ({
      address: `10.${cluster.slice(1)}.1.${i}`,
      condition: i < ready ? ("ready" as const) : ("not-ready" as const),
    }));
    model.setSlice(sliceFact({ key: `demo/${cluster}`, cluster, endpoints }), 0);
  };
  const tier = () => {
    const [service] = plans.plan(KEY)?.services ?? [];
    const [same] = plans.of("IPv4").services(KEY).services;
    assert.equal(same, service);
    return `${service?.tier} ${service?.reason}`;
  };
  list("c9", 8);
  for (const [ready, expected] of [
    [4, "local nearest-ready"],
    // One less is not too few.
    [3, "local nearest-ready"],
    [3, "local nearest-ready"],
    [2, "global nearest-enough-ready"],
    [3, "global nearest-enough-ready"],
    [4, "local nearest-ready"],
    [3, "local nearest-ready"],
  ] as const) {
    list("c1", ready);
    assert.equal(tier(), expected);
  }
  model.removeImport(KEY, 1);
  plans.plan(KEY);
  model.setImport(importFact({ minReady }), 2);
  assert.equal(tier(), "global nearest-enough-ready", "a new import knows no tier in use");
});
