import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OPERATORS } from "../../api/tiers/cluster-selector.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { annotated } from "../../test/generators/hostile-selectors.ts";
import { anySelectors } from "../../test/generators/selectors.ts";
import { parseImport } from "./parse-import.ts";

/** JSON that looks like selectors, and goes wrong anywhere. */
const almost = fc.letrec((tie) => ({
  value: fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom("In", "NotIn", "Exists", "env", "@SameAsImporter@", "x"),
    },
    { weight: 1, arbitrary: fc.oneof(fc.string({ unit: "binary" }), fc.jsonValue()) },
    { weight: 2, arbitrary: tie("object") },
    { weight: 2, arbitrary: fc.array(tie("value"), { maxLength: 3 }) },
  ),
  object: fc.dictionary(
    fc.constantFrom(
      "propertySelector",
      "matchProperties",
      "matchLabels",
      "matchExpressions",
      "key",
      "operator",
      "values",
      "env",
      "__proto__",
      "toString",
    ),
    tie("value"),
    { maxKeys: 3 },
  ),
}));

const hostile = fc.oneof(
  fc.json(),
  fc.string({ unit: "binary" }),
  fc.array(almost.object, { maxLength: 3 }).map((list) => JSON.stringify(list)),
  anySelectors.map((list) => written(list)),
);

/** Selectors as somebody writes them. */
function written(selectors: readonly (readonly object[])[]): string {
  const list = selectors.map((matchExpressions) => ({ propertySelector: { matchExpressions } }));
  return JSON.stringify(list);
}

test("any text of the annotation results in valid selectors or one problem", () =>
  forAll([hostile], (text) => {
    const { fact, problems } = parseImport(annotated(text));
    const selectors = fact?.selectors;
    assert.equal(problems.length, selectors === undefined ? 1 : 0);
    for (const { reason, field, value } of problems) {
      assert.equal(reason, "invalid-selector");
      assert.match(`${field} ${value}`, /^[\x20-\x7e]{1,700}$/);
    }
    for (const { key, operator, values } of (selectors ?? []).flat()) {
      assert.match(key, /^[a-z0-9./-]{1,253}$/);
      assert.ok(OPERATORS.includes(operator));
      assert.equal(values.length > 0, operator === "In" || operator === "NotIn");
    }
  }));

test("a selector with several errors has one problem", () => {
  const text = '[{"propertySelector":{"matchProperties":"In","matchExpressions":[[]]}}]';
  assert.equal(parseImport(annotated(text)).problems.length, 1);
});

test("valid selectors are parsed unchanged", () =>
  forAll([anySelectors], (selectors) => {
    assert.deepEqual(parseImport(annotated(written(selectors))).fact?.selectors, selectors);
  }));

test("a problem names the invalid part of the list, and shows it", () => {
  const list = [{ propertySelector: { matchProperties: { region: "eu", "my region": "eu" } } }];
  assert.deepEqual(parseImport(annotated(list)).problems, [
    {
      reason: "invalid-selector",
      object: "ServiceImport demo/serve",
      field:
        "metadata.annotations[clusterset-proxy.io/cluster-selectors][0].propertySelector.matchProperties",
      value: '"my region"',
    },
  ]);
});
