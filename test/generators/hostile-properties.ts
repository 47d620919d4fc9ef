import { ANNOTATION_CLUSTER_PROPERTIES } from "../../api/keys.ts";
import { brief, type ParserCase } from "./hostile-imports.ts";
import { endpointSlice } from "./hostile-slices.ts";

const PATH = `metadata.annotations[${ANNOTATION_CLUSTER_PROPERTIES}]`;

/** A slice whose annotation is this value, or its JSON; the resulting properties, and the problems. */
function properties(
  value: unknown,
  left: Readonly<Record<string, string>> | undefined,
  ...paths: readonly string[]
): ParserCase {
  const annotation = typeof value === "string" ? value : JSON.stringify(value);
  return {
    name: `properties ${brief(annotation)}`,
    object: endpointSlice({}, {}, { annotations: { [ANNOTATION_CLUSTER_PROPERTIES]: annotation } }),
    fact: left === undefined ? {} : { properties: new Map(Object.entries(left)) },
    problems: paths.map((path) => `invalid-property ${PATH}${path}` as const),
  };
}

const MANY = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`p${i}`, "x"]));
const { p64: _, ...KEPT } = MANY;

/** What a slice may say of its cluster's properties, and what becomes of it. */
export const SLICE_PROPERTY_CASES: readonly ParserCase[] = [
  properties({}, {}),
  properties(
    { "continent.example.com": "europe", env: "a b\n" },
    { "continent.example.com": "europe", env: "a b\n" },
  ),
  properties({ env: "x".repeat(256), long: "x".repeat(257) }, { env: "x".repeat(256) }, "[long]"),
  properties({ a: "1", b: 2, c: null, d: "", e: true }, { a: "1" }, "[b]", "[c]", "[d]", "[e]"),
  properties({ "": "1", A: "1", "a/b": "1", "a\n": "1", a: "1" }, { a: "1" }, "", "", "", ""),
  properties('{"__proto__":"1","constructor":"2"}', { constructor: "2" }, ""),
  properties(MANY, KEPT, ""),
  ...["", "null", "[]", "5", '"x"', "{", '{"a":"1","a":"2"}'].map((text) =>
    properties(text, undefined, ""),
  ),
  properties('{"a":{"b":"c"},"d":"e"}', undefined, ""),
  properties(`{"a":"${"x".repeat(1_000_000)}"}`, undefined, ""),
  {
    name: "properties that are an object, not its text",
    object: endpointSlice({}, {}, { annotations: { [ANNOTATION_CLUSTER_PROPERTIES]: {} } }),
    fact: {},
    problems: [`invalid-property ${PATH}`],
  },
];
