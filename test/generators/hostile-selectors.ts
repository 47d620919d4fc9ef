import { ANNOTATION_CLUSTER_SELECTORS } from "../../api/keys.ts";
import type { Fields } from "../../api/parse/fields.ts";
import { brief, type ParserCase, serviceImport } from "./hostile-imports.ts";

const SPEC = "spec.clusterSelectors";
const ANNOTATION = `metadata.annotations[${ANNOTATION_CLUSTER_SELECTORS}]`;
const LOCAL = { key: "cluster.clusterset.k8s.io", operator: "In", values: ["@SameAsImporter@"] };

/** An import with this annotation; a value that is no text is written as JSON. */
export function annotated(value: unknown, spec: Fields = {}): Fields {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return serviceImport(spec, { annotations: { [ANNOTATION_CLUSTER_SELECTORS]: text } });
}

/** A list in the annotation and in the spec: the fact, and the place of a problem if there is one. */
function inBoth(value: unknown, fact: Fields, path?: string): ParserCase[] {
  const problems = (place: string) =>
    path === undefined ? [] : ([`invalid-selector ${place}${path}`] as const);
  const object = serviceImport({ clusterSelectors: value });
  const name = `selectors ${brief(value)}`;
  return [
    { name, object: annotated(value), fact, problems: problems(ANNOTATION) },
    { name: `spec.clusterSelectors ${brief(value)}`, object, fact, problems: problems(SPEC) },
  ];
}

function list(value: unknown, selectors: Fields["selectors"]): ParserCase[] {
  return inBoth(value, { selectors });
}

/** A list that is wrong at `path` is refused as a whole, in both places. */
function wrong(value: unknown, path: string): ParserCase[] {
  return inBoth(value, {}, path);
}

/** A second entry that is wrong, after one that is good and goes with it. */
function entry(value: unknown, path: string): ParserCase[] {
  return wrong([{ propertySelector: { matchExpressions: [LOCAL] } }, value], `[1]${path}`);
}

function selector(value: unknown, path: string): ParserCase[] {
  return entry({ propertySelector: value }, `.propertySelector${path}`);
}

function requirement(value: unknown, path: string): ParserCase[] {
  return selector({ matchExpressions: [value] }, `.matchExpressions[0]${path}`);
}

/** Text that is not a list of selectors. */
function text(name: string, value: unknown): ParserCase {
  const object = serviceImport({}, { annotations: { [ANNOTATION_CLUSTER_SELECTORS]: value } });
  const problems = [`invalid-selector ${ANNOTATION}`] as const;
  return { name: `selectors that are ${name}`, object, fact: {}, problems };
}

const REGION = { "region.topology.k8s.io": "@SameAsImporter@" };
const IN_REGION = { key: "region.topology.k8s.io", operator: "In", values: ["@SameAsImporter@"] };

/** What the selectors of a ServiceImport may say, and what becomes of it. */
export const SELECTOR_CASES: readonly ParserCase[] = [
  ...list([], []),
  ...list([{ propertySelector: { matchExpressions: [LOCAL] } }], [[LOCAL]]),
  ...list([{ propertySelector: { matchProperties: REGION } }], [[IN_REGION]]),
  ...list([{ propertySelector: { matchLabels: REGION } }], [[IN_REGION]]),
  ...list(
    [
      {
        propertySelector: {
          matchProperties: { "topology.kubernetes.io/region": "eu" },
          matchExpressions: [
            { key: "gpu.example.com", operator: "Exists" },
            { key: "env", operator: "NotIn", values: ["test", "über\n\u202e", ""] },
            { key: "old", operator: "DoesNotExist", values: [] },
          ],
        },
      },
      { propertySelector: { matchProperties: { env: "test" }, matchExpressions: null } },
    ],
    [
      [
        { key: "topology.kubernetes.io/region", operator: "In", values: ["eu"] },
        { key: "gpu.example.com", operator: "Exists", values: [] },
        { key: "env", operator: "NotIn", values: ["test", "über\n\u202e", ""] },
        { key: "old", operator: "DoesNotExist", values: [] },
      ],
      [{ key: "env", operator: "In", values: ["test"] }],
    ],
  ),
  {
    name: "spec.clusterSelectors beside the annotation, which is not even read",
    object: annotated("?", { clusterSelectors: [{ propertySelector: { matchLabels: REGION } }] }),
    fact: { selectors: [[IN_REGION]] },
    problems: [`overruled ${ANNOTATION}`],
  },
  {
    name: "spec.clusterSelectors that are wrong, beside a good annotation: it does not step in",
    object: annotated([], { clusterSelectors: 5 }),
    fact: {},
    problems: [`overruled ${ANNOTATION}`, `invalid-selector ${SPEC}`],
  },
  {
    name: "spec.clusterSelectors that are null, beside a good annotation",
    object: annotated([], { clusterSelectors: null }),
    fact: { selectors: [] },
    problems: [],
  },

  ...["{}", 5, true, {}, { 0: {} }, { length: 0 }].flatMap((value) => wrong(value, "")),
  ...wrong(Array(17).fill({ propertySelector: { matchLabels: REGION } }), ""),
  ...[null, 5, "x", [], {}, { propertySelector: null }, { propertySelector: [] }].flatMap((value) =>
    entry(value, ""),
  ),
  // A criterion of a later version beside a known one: ignoring it would select other clusters.
  ...entry({ propertySelector: { matchLabels: REGION }, celSelector: "true" }, ""),
  ...selector({}, ""),
  ...selector({ matchProperties: {}, matchExpressions: [] }, ""),
  ...selector({ matchLabel: REGION }, ""),
  ...selector({ matchProperties: Object.fromEntries(names(17).map((n) => [n, "x"])) }, ""),
  ...[5, "x", [], ["x"]].flatMap((map) => selector({ matchProperties: map }, ".matchProperties")),
  ...["", "A", "a b", "a/b", "a..b", "constructor_", "a\n", "x".repeat(254)].flatMap((key) =>
    selector({ matchProperties: { [key]: "x" } }, ".matchProperties"),
  ),
  ...[null, 5, {}, ["x"], "x".repeat(257)].flatMap((value) =>
    selector({ matchLabels: { env: value } }, ".matchLabels[env]"),
  ),
  ...[5, "x", {}].flatMap((raw) => selector({ matchExpressions: raw }, ".matchExpressions")),
  ...selector({ matchExpressions: Array(17).fill(LOCAL) }, ".matchExpressions"),
  ...[null, "x", [], { ...LOCAL, valves: [] }].flatMap((raw) => requirement(raw, "")),
  ...[undefined, null, 5, "", "A/b"].flatMap((key) => requirement({ ...LOCAL, key }, ".key")),
  ...[undefined, null, "in", "Gt", "toString", ["In"]].flatMap((operator) =>
    requirement({ ...LOCAL, operator }, ".operator"),
  ),
  ...[undefined, null, [], "x", {}, Array(257).fill("x")].flatMap((values) =>
    requirement({ ...LOCAL, values }, ".values"),
  ),
  ...requirement({ ...LOCAL, values: ["a", 5] }, ".values[1]"),
  ...requirement({ ...LOCAL, operator: "Exists" }, ".values"),
  ...requirement({ ...LOCAL, operator: "DoesNotExist" }, ".values"),

  text("empty", ""),
  text("no JSON", "[{propertySelector: {}}]"),
  text("JSON with a comma too many", "[],"),
  text("a list, not its text", []),
  text("of a megabyte", `[${" ".repeat(1_000_000)}]`),
  text("nested 30,000 deep", `${"[".repeat(30_000)}${"]".repeat(30_000)}`),
  text("quotation marks", '\\"'.repeat(30_000)),
  text(
    "two in one",
    '[{"propertySelector":{"matchLabels":{"env":"a"},"matchLabels":{"env":"b"}}}]',
  ),
  text("one key twice", '[{"propertySelector":{"matchLabels":{"env":"a","\\u0065nv":"b"}}}]'),
  ...['{"__proto__":[]}', '[{"__proto__":{"propertySelector":{"matchLabels":{"a":"b"}}}}]'].map(
    (value): ParserCase => ({
      name: `selectors ${value}`,
      object: annotated(value),
      fact: {},
      problems: [`invalid-selector ${ANNOTATION}${value.startsWith("[") ? "[0]" : ""}`],
    }),
  ),
  {
    name: "selectors by a property that is called __proto__",
    object: annotated('[{"propertySelector":{"matchLabels":{"__proto__":"x"}}}]'),
    fact: {},
    problems: [`invalid-selector ${ANNOTATION}[0].propertySelector.matchLabels`],
  },
];

function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `p${i}`);
}
