import assert from "node:assert/strict";
import { test } from "node:test";
import { importObject } from "../generators/objects.ts";
import { addressAt, homeFact } from "./address-plan.ts";
import { rendered } from "./rendered.ts";
import { trace } from "./trace.ts";

const HTTP = { name: "http", port: 80 };

for (const others of [0, 18]) {
  test(`an explicit VIP that is a pod's address, with ${others} others, does not affect that pod's established connections`, () => {
    const claimed = addressAt("c2/n1/a", "IPv4");
    const more = Array.from({ length: others }, (_, i) => `198.51.100.${i + 1}`);
    const objects = [importObject("demo/greedy", [claimed, ...more], [HTTP])];
    const kernel = rendered(objects, homeFact(), "none").get("IPv4");
    assert.ok(kernel);
    const tables = { nat: kernel.table("nat"), filter: kernel.table("filter") };
    const reply = {
      from: "pod",
      source: addressAt("c1/n1/a", "IPv4"),
      destination: claimed,
      protocol: "tcp",
      port: 40_000,
    } as const;
    const fates = (state: "NEW" | "ESTABLISHED", port = 40_000) =>
      trace(tables, { ...reply, port, state }).map(({ fate }) => fate.fate);
    assert.deepEqual(fates("ESTABLISHED"), ["untouched"]);
    assert.deepEqual(fates("ESTABLISHED", 80), ["untouched"]);
    assert.deepEqual(fates("NEW"), ["untouched"]);
    assert.deepEqual(fates("NEW", 80), ["rejected"]);
  });
}
