import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { IMPORT_CASES, serviceImport } from "../../test/generators/hostile-imports.ts";
import { SELECTOR_CASES } from "../../test/generators/hostile-selectors.ts";
import { parseImport } from "./parse-import.ts";

const PLAIN = {
  key: "demo/serve",
  created: Number.POSITIVE_INFINITY,
  headless: false,
  vips: ["241.0.0.10"],
  ports: [{ name: "http", protocol: "TCP", port: 80 }],
  nodeLocal: false,
};

describe("parseImport on", () => {
  for (const { name, object, fact, problems } of [...IMPORT_CASES, ...SELECTOR_CASES]) {
    test(name, () => {
      const parsed = parseImport(object);
      const weights = parsed.fact?.clusterWeights;
      const seen = parsed.fact && {
        ...parsed.fact,
        vips: parsed.fact.vips.map((v) => v.text),
        ...(weights && { clusterWeights: Object.fromEntries(weights) }),
      };
      assert.deepEqual(seen, fact && { ...PLAIN, ...fact });
      assert.deepEqual(
        parsed.problems.map((problem) => `${problem.reason} ${problem.field}`),
        problems,
      );
      for (const problem of parsed.problems) assert.equal(problem.object, parsed.object);
      assert.match(parsed.object, /^ServiceImport [\x20-\x7e]{0,200}$/);
    });
  }
});

test("v1alpha1 and v1beta1 are parsed into the same fact", () => {
  const other = { ...serviceImport(), apiVersion: "multicluster.x-k8s.io/v1alpha1" };
  assert.deepEqual(parseImport(other), parseImport(serviceImport()));
});

test("a problem shows the invalid value", () => {
  const { problems } = parseImport(serviceImport({ ips: ["010.0.0.1"], ports: [{ port: 65536 }] }));
  assert.deepEqual(problems, [
    {
      reason: "invalid-address",
      object: "ServiceImport demo/serve",
      field: "spec.ips[0]",
      value: '"010.0.0.1"',
    },
    {
      reason: "invalid-port",
      object: "ServiceImport demo/serve",
      field: "spec.ports[0].port",
      value: "65536",
    },
  ]);
});

test("an object whose name is unusable has no key, and one whose type is has", () => {
  assert.equal(parseImport(serviceImport({}, { name: "__proto__" })).key, undefined);
  assert.equal(parseImport(serviceImport({ type: "?" })).key, "demo/serve");
});

test("a hundred problems are listed; further invalid parts are ignored, too", () => {
  const ports = Array.from({ length: 500 }, (_, i) => ({ name: `p${i}`, port: -i }));
  const parsed = parseImport(serviceImport({ ports: [...ports, { name: "good", port: 80 }] }));
  assert.equal(parsed.problems.length, 100);
  assert.deepEqual(
    parsed.fact?.ports.map(({ name }) => name),
    ["good"],
  );
});
