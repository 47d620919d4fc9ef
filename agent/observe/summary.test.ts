import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reason } from "../../api/reasons.ts";
import type { Excluded, ImportPlan } from "../plan/import-plan.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { summaryOf } from "./summary.ts";

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
