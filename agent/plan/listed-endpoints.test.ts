import assert from "node:assert/strict";
import { test } from "node:test";
import { importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import type { ImportFact, SliceFact } from "../model/facts.ts";
import { Model } from "../model/model.ts";
import { NO_SILENCE } from "../model/silence.ts";
import { planImport } from "./plan.ts";

const HTTP = { name: "http", protocol: "TCP", port: 80 } as const;
const CONDITIONS = ["ready", "serving", "terminating", "not-ready"] as const;
const DNS = { name: "dns", protocol: "UDP", port: 53 } as const;

/** `keeps` of each service of demo/serve, seen from node n1 of cluster c1. */
function listedBy(fact: ImportFact, slices: readonly SliceFact[], silence = NO_SILENCE) {
  const model = new Model();
  model.setSilence(silence, 0);
  model.setImport(fact, 0);
  for (const slice of slices) model.setSlice(slice, 0);
  const view = model.view("demo/serve");
  assert.ok(view);
  return planImport(view, nodeFact()).services.map(({ keeps }) => keeps && [...keeps].sort());
}

test("TCP connections are kept unless the import requests resets, SCTP's always", () => {
  const ports = [HTTP, { ...HTTP, protocol: "SCTP" } as const];
  assert.deepEqual(listedBy(importFact({ ports }), [sliceFact({ ports })]), [undefined, undefined]);
  assert.deepEqual(listedBy(importFact({ ports, onEndpointDeath: "reset" }), []), [[], undefined]);
});

test("UDP entries are kept while their endpoint is ready, of any tier; with `follow`, none but those of new clients", () => {
  const near = sliceFact({ key: "demo/near", endpoints: ["10.1.0.1"], ports: [DNS] });
  const far = sliceFact({
    ...{ key: "demo/far", cluster: "c9", ports: [{ ...DNS, port: 5353 }] },
    endpoints: CONDITIONS.map((condition, i) => ({ address: `10.9.0.${i}`, condition })),
  });
  const inactive = sliceFact({
    ...{ key: "demo/unused", cluster: "c8", ports: [DNS], endpoints: ["10.8.0.1"], active: false },
  });
  const fact = importFact({ ports: [DNS] });
  assert.deepEqual(listedBy(fact, [near, far, inactive]), [["10.1.0.1:53", "10.9.0.0:5353"]]);
  assert.deepEqual(listedBy({ ...fact, udp: "follow" }, [near, far]), [[]]);
  assert.deepEqual(listedBy({ ...fact, nodeLocal: true }, [near, far]), [[]], "policies apply");
});

test("endpoints of any slice are listed, of any condition and tier, active or not, with the slice's port", () => {
  const near = sliceFact({
    key: "demo/near",
    endpoints: CONDITIONS.map((condition, i) => ({ address: `10.1.0.${i}`, condition })),
    ports: [{ ...HTTP, port: 8080 }],
  });
  const ports = [{ ...HTTP, port: 9090 }];
  const far = sliceFact({ key: "demo/far", cluster: "c9", endpoints: ["10.9.0.1"], ports });
  const off = { active: false, endpoints: ["10.9.0.2"], ports };
  const unused = sliceFact({ key: "demo/unused", ...off });
  const other = sliceFact({ key: "demo/other", endpoints: ["10.1.0.9"], ports: [DNS] });
  const six = sliceFact({ key: "demo/six", family: "IPv6", endpoints: ["fd00::1"] });
  const fact = importFact({ onEndpointDeath: "reset", ports: [HTTP] });
  const all = ["10.1.0.0:8080", "10.1.0.1:8080", "10.1.0.2:8080", "10.1.0.3:8080"];
  assert.deepEqual(listedBy(fact, [near, far, unused, other, six]), [
    [...all, "10.9.0.1:9090", "10.9.0.2:9090"],
  ]);
});

test("behind a wall, no connection to an endpoint outside is kept, neither of UDP nor, with resets, of TCP", () => {
  const ports = [HTTP, DNS];
  const near = sliceFact({ key: "demo/near", cluster: "c1", endpoints: ["10.1.0.1"], ports });
  const far = sliceFact({ key: "demo/far", cluster: "c9", endpoints: ["10.9.0.1"], ports });
  const fact = importFact({ ports });
  const both = ["10.1.0.1:53", "10.9.0.1:53"];
  assert.deepEqual(listedBy(fact, [near, far]), [undefined, both]);
  const walled = { ...fact, onlySelected: true } as const;
  assert.deepEqual(listedBy(walled, [near, far]), [undefined, ["10.1.0.1:53"]]);
  assert.deepEqual(listedBy({ ...walled, onEndpointDeath: "reset" }, [near, far]), [
    ["10.1.0.1:80"],
    ["10.1.0.1:53"],
  ]);
});

test("with resets, endpoints are dead that do not answer and whose cluster is out of rotation; one of both is not enough", () => {
  const slice = sliceFact({
    ...{ key: "demo/far", cluster: "c9", ports: [HTTP] },
    endpoints: CONDITIONS.map((condition, i) => ({ address: `10.9.0.${i}`, condition })),
  });
  const fact = importFact({ onEndpointDeath: "reset", ports: [HTTP] });
  const all = CONDITIONS.map((_, i) => `10.9.0.${i}:80`);
  const [ready = "", , ...rest] = all;
  const clusters = new Map([["c9", ""]]);
  const ports = new Map([["10.9.0.1", new Map([[80, "shown"] as const])]]);
  const listed = (silence: Partial<typeof NO_SILENCE>, of = fact) =>
    listedBy(of, [slice], { ...NO_SILENCE, ...silence });
  assert.deepEqual(listed({}), [all]);
  assert.deepEqual(listed({ clusters }), [[ready, ...rest]]);
  assert.deepEqual(listed({ endpoints: ports }), [[ready, ...rest]]);
  const other = new Map([["10.9.0.1", new Map([[81, "shown"] as const])]]);
  assert.deepEqual(listed({ endpoints: other }), [all]);
  const off = { ...fact, health: "off" } as const;
  assert.deepEqual(listed({ clusters }, off), [all]);
});
