import assert from "node:assert/strict";
import { test } from "node:test";
import { forAll } from "../../test/generators/for-all.ts";
import { mutated } from "../../test/generators/mutations.ts";
import { ipAddress } from "../../test/generators/objects.ts";
import { parseIpAddress } from "./parse-ip-address.ts";

const GROUP = "multicluster.x-k8s.io";
const PARENT = { group: GROUP, resource: "serviceimports", namespace: "shop", name: "web" };

test("an IPAddress names the import that holds a VIP", () => {
  for (const address of ["241.0.0.7", "fd00:241::7"]) {
    const { fact, problems } = parseIpAddress(ipAddress(address, "shop/web"));
    assert.deepEqual(fact, { address, holder: "shop/web" });
    assert.deepEqual(problems, []);
  }
});

for (const [what, parentRef, field] of [
  ["an import without namespace", { ...PARENT, namespace: undefined }, "namespace"],
  ["an import of an invalid name", { ...PARENT, name: "a/b" }, "name"],
  ["a Service", { ...PARENT, group: "", resource: "services" }, undefined],
  ["another product's import", { ...PARENT, group: "example.com" }, undefined],
  ["another kind", { ...PARENT, resource: "serviceexports" }, undefined],
  ["nothing", undefined, undefined],
] as const) {
  test(`an IPAddress of ${what} is ${field ? "rejected" : "skipped without a problem"}`, () => {
    const { fact, problems } = parseIpAddress({
      metadata: { name: "241.0.0.7" },
      spec: { parentRef },
    });
    assert.equal(fact, undefined);
    const fields = problems.map((problem) => problem.field);
    assert.deepEqual(fields, field === undefined ? [] : [`spec.parentRef.${field}`]);
  });
}

test("a name that is no canonical address is rejected", () => {
  for (const name of ["241.0.0.07", "fd00:241:0::7", "::ffff:241.0.0.7", "web", 7, undefined]) {
    const { fact, problems } = parseIpAddress({ metadata: { name }, spec: { parentRef: PARENT } });
    assert.deepEqual([fact, ...problems.map(({ field }) => field)], [undefined, "metadata.name"]);
  }
});

test("no object makes the parser throw, and a fact names an import", () =>
  forAll([mutated(ipAddress("241.0.0.7", "shop/web"))], (object) => {
    const { fact } = parseIpAddress(object);
    if (fact !== undefined) assert.match(fact.holder, /^[a-z0-9-]+\/[a-z0-9-]+$/);
  }));
