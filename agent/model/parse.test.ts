import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ANNOTATION_CLUSTER_PROPERTIES, ANNOTATION_ON_ENDPOINT_DEATH } from "../../api/keys.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { REASONS } from "../../api/reasons.ts";
import { OPERATORS } from "../../api/tiers/cluster-selectors.ts";
import { cidr } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import {
  brief,
  IMPORT_CASES,
  type ParserCase,
  serviceImport,
} from "../../test/generators/hostile-imports.ts";
import {
  CLUSTER_PROPERTY_CASES,
  clusterProperty,
  NODE_CASES,
  nodeObject,
} from "../../test/generators/hostile-nodes.ts";
import { annotated, SELECTOR_CASES } from "../../test/generators/hostile-selectors.ts";
import { endpointSlice, SLICE_CASES } from "../../test/generators/hostile-slices.ts";
import { mutated } from "../../test/generators/mutations.ts";
import { anySelectors } from "../../test/generators/selectors.ts";
import { parseClusterProperty } from "./parse-cluster-property.ts";
import { parseImport } from "./parse-import.ts";
import { parseNode } from "./parse-node.ts";
import { parseSlice } from "./parse-slice.ts";

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

/** Annotations of a slice with its cluster's properties, and what the parser returns for each. */
const SLICE_PROPERTY_CASES: readonly ParserCase[] = [
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

const CLUSTER_SET = [cidr("241.0.0.0/8"), cidr("fd00:241::/108")];

/** What is expected as undefined is expected to be absent. */
function present(fact: object): object {
  return Object.fromEntries(Object.entries(fact).filter(([, value]) => value !== undefined));
}

/** One test for each case. `most`: characters of the object's name; `plain`: the fact of the plain object, as `seen` shows it. */
function testTable<Fact extends object>(
  kind: string,
  most: number,
  cases: typeof IMPORT_CASES,
  parse: (object: unknown) => Parsed<Fact>,
  plain: object,
  seen: (fact: Fact) => object,
): void {
  describe(`a ${kind}:`, () => {
    for (const { name, object, fact, problems } of cases) {
      test(name, () => {
        const parsed = parse(object);
        assert.deepEqual(parsed.fact && seen(parsed.fact), fact && present({ ...plain, ...fact }));
        const found = parsed.problems.map(({ reason, field }) => `${reason} ${field}`);
        assert.deepEqual(found, problems);
        for (const problem of parsed.problems) assert.equal(problem.object, parsed.object);
        assert.match(parsed.object, new RegExp(`^${kind} [\\x20-\\x7e]{0,${most}}$`));
      });
    }
  });
}

testTable(
  "ServiceImport",
  200,
  [...IMPORT_CASES, ...SELECTOR_CASES],
  parseImport,
  {
    key: "demo/serve",
    created: Number.POSITIVE_INFINITY,
    headless: false,
    vips: ["241.0.0.10"],
    ports: [{ name: "http", protocol: "TCP", port: 80 }],
    nodeLocal: false,
  },
  ({ clusterWeights, ...fact }) => ({
    ...fact,
    vips: fact.vips.map(({ text }) => text),
    ...(clusterWeights && { clusterWeights: Object.fromEntries(clusterWeights) }),
  }),
);

testTable(
  "EndpointSlice",
  350,
  [...SLICE_CASES, ...SLICE_PROPERTY_CASES],
  (object) => parseSlice(object, CLUSTER_SET),
  {
    key: "demo/serve-c2",
    importKey: "demo/serve",
    cluster: "c2",
    region: "eu-west",
    active: true,
    family: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    endpoints: [{ address: "10.2.0.1", condition: "ready" }],
  },
  (fact) => ({ ...fact, endpoints: [...fact.endpoints] }),
);

testTable(
  "Node",
  260,
  NODE_CASES,
  parseNode,
  {
    region: "eu-west",
    zone: "eu-west-a",
    podCidrs: ["10.1.3.0/24", "fd10:1:3::/64"],
    addresses: ["192.0.2.3", "2001:db8::3"],
  },
  (fact) => ({ ...fact, podCidrs: fact.podCidrs.map(({ text }) => text) }),
);

testTable("ClusterProperty", 260, CLUSTER_PROPERTY_CASES, parseClusterProperty, {}, (fact) => fact);

test("every reason to reject a part of an object has a case in the tables of hostile objects", () => {
  const words = Object.keys(REASONS);
  // What follows is about files, and is the business of the source that reads them.
  const atTheDoor = words.slice(words.indexOf("invalid-object"), words.indexOf("duplicate-object"));
  assert.ok(atTheDoor.length > 15);
  const tables = [
    IMPORT_CASES,
    SELECTOR_CASES,
    SLICE_CASES,
    SLICE_PROPERTY_CASES,
    NODE_CASES,
    CLUSTER_PROPERTY_CASES,
  ];
  const cases = tables.flat().flatMap(({ problems }) => problems);
  const produced = new Set(cases.map((problem) => problem.split(" ")[0]));
  assert.deepEqual(
    atTheDoor.filter((word) => !produced.has(word)),
    [],
  );
});

test("v1alpha1 and v1beta1 are parsed into the same fact", () => {
  const other = { ...serviceImport(), apiVersion: "multicluster.x-k8s.io/v1alpha1" };
  assert.deepEqual(parseImport(other), parseImport(serviceImport()));
});

test("a problem shows the invalid value of an import", () => {
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

test("without a ClusterSet CIDR, an endpoint may have any address", () => {
  const { fact } = parseSlice(endpointSlice({ endpoints: [{ addresses: ["241.0.0.1"] }] }));
  assert.equal(fact?.endpoints.length, 1);
});

test("a problem shows the invalid address of a slice", () => {
  const { problems } = parseSlice(endpointSlice({ endpoints: [{ addresses: ["127.0.0.1"] }] }));
  assert.deepEqual(problems, [
    {
      reason: "loopback-address",
      object: "EndpointSlice demo/serve-c2",
      field: "endpoints[0].addresses[0]",
      value: '"127.0.0.1"',
    },
  ]);
});

test("an invalid slice of the clusterset has a key, so that its earlier fact can be removed", () => {
  assert.equal(parseSlice(endpointSlice({ addressType: "FQDN" })).key, "demo/serve-c2");
  const unlabelled = { metadata: { namespace: "demo", name: "serve-c2" } };
  assert.equal(parseSlice(unlabelled).key, "demo/serve-c2");
  assert.equal(parseSlice(endpointSlice({}, {}, { name: "__proto__" })).key, undefined);
});

/** Far more levels than a recursive reader has stack for; JSON.parse takes them, so an API server may send them. */
const LEVELS = 50_000;
const DEEP: readonly unknown[] = [
  JSON.parse("[".repeat(LEVELS) + "]".repeat(LEVELS)),
  JSON.parse(`${'{"values":'.repeat(LEVELS)}1${"}".repeat(LEVELS)}`),
];
const SELECTOR = {
  matchLabels: { a: "b" },
  matchExpressions: [{ key: "a", operator: "In", values: ["b"] }],
};
const annotations = { [ANNOTATION_ON_ENDPOINT_DEATH]: "reset" };
const OBJECTS = [
  {
    kind: "ServiceImport",
    parse: (object: unknown) => parseImport(object),
    object: serviceImport(
      {
        ports: [{ name: "http", port: 80, protocol: "TCP", appProtocol: "http" }],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } },
        internalTrafficPolicy: "Local",
        trafficDistribution: "PreferClose",
        clusterSelectors: [{ propertySelector: SELECTOR }],
      },
      { creationTimestamp: "2026-01-01T00:00:00Z", annotations },
    ),
  },
  {
    kind: "EndpointSlice",
    parse: (object: unknown) => parseSlice(object, []),
    object: endpointSlice(
      {
        endpoints: [
          {
            addresses: ["10.0.0.1"],
            conditions: { ready: true, serving: true, terminating: false },
            nodeName: "n1",
            zone: "z1",
            hints: { forZones: [{ name: "z1" }] },
          },
        ],
      },
      {},
      { annotations },
    ),
  },
  { kind: "Node", parse: parseNode, object: nodeObject() },
  {
    kind: "ClusterProperty",
    parse: parseClusterProperty,
    object: clusterProperty("cluster", "c1"),
  },
];

/** The object once for each of its fields, at any level, with `value` in its place. */
function* withEach(object: unknown, value: unknown): Generator<unknown> {
  yield value;
  if (Array.isArray(object)) {
    for (const one of withEach(object[0], value)) yield [one];
  } else if (typeof object === "object" && object !== null) {
    for (const [name, field] of Object.entries(object)) {
      for (const one of withEach(field, value)) yield { ...object, [name]: one };
    }
  }
}

describe("a field with fifty thousand levels", () => {
  for (const { kind, parse, object } of OBJECTS) {
    test(`does no harm, whichever field of a ${kind} it is`, () => {
      let seen = 0;
      for (const value of DEEP) {
        for (const hostile of withEach(object, value)) {
          const { problems } = parse(hostile);
          seen += problems.length;
          for (const problem of problems) assert.ok(problem.value.length <= 83);
        }
      }
      assert.ok(seen > 0);
    });
  }
});

/** Selectors of each form. */
const VALID = [
  { propertySelector: { matchProperties: { env: "x" } } },
  {
    propertySelector: {
      matchLabels: { env: "@SameAsImporter@" },
      matchExpressions: [
        { key: "env", operator: "NotIn", values: ["x", "y"] },
        { key: "env", operator: "Exists" },
      ],
    },
  },
];
const hostile = fc.oneof(
  fc.json(),
  fc.string({ unit: "binary" }),
  { weight: 3, arbitrary: mutated(VALID).map((list) => JSON.stringify(list)) },
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
