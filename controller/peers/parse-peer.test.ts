import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { scopeText } from "../model/peer-scope.ts";
import { parsePeer } from "./parse-peer.ts";

const KUBECONFIG = "apiVersion: v1\nusers: [{ user: { token: t0ps3cret } }]\n";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const RANGES = "clusterset-proxy.io/endpoint-cidrs";
const ALLOWED = "clusterset-proxy.io/allowed-namespaces";
const DENIED = "clusterset-proxy.io/denied-namespaces";

/** The Secret of c2 with its ranges; `over`: other labels, data or annotations. */
function secret(over: { labels?: unknown; data?: unknown; annotations?: unknown } = {}): unknown {
  const {
    labels = { "clusterset-proxy.io/peer": "c2" },
    data = { kubeconfig: base64(KUBECONFIG) },
    annotations = { [RANGES]: "10.2.0.0/16" },
  } = over;
  const metadata = { namespace: "clusterset-proxy", name: "peer-c2", labels, annotations };
  return { metadata, type: "Opaque", data };
}

/** The fact of a Secret, and the reasons of its problems. */
function parsed(over: Parameters<typeof secret>[0]) {
  const { fact, problems } = parsePeer(secret(over));
  return { fact, reasons: problems.map(({ reason }) => reason) };
}

test("parses kubeconfig and endpoint ranges of a peer's Secret", () => {
  const { fact, reasons } = parsed({ annotations: { [RANGES]: "10.2.0.0/16, fd00:2::/48" } });
  assert.deepEqual(reasons, []);
  assert.deepEqual(
    { ...fact, scope: fact && scopeText(fact.scope) },
    {
      key: "clusterset-proxy/peer-c2",
      cluster: "c2",
      kubeconfig: KUBECONFIG,
      scope: '[["10.2.0.0/16","fd00:2::/48"],{"denied":[]}]',
    },
  );
});

test("ranges of every address are used, and reported", () => {
  const { fact, reasons } = parsed({ annotations: { [RANGES]: "0.0.0.0/0,::/0" } });
  assert.equal(fact?.scope.endpointCidrs.length, 2);
  assert.deepEqual(reasons, ["endpoint-cidrs-open", "endpoint-cidrs-open"]);
});

test("a Secret without the label is ignored", () => {
  assert.deepEqual(parsePeer(secret({ labels: { app: "x" } })), {
    object: "Secret clusterset-proxy/peer-c2",
    key: "clusterset-proxy/peer-c2",
    problems: [],
  });
});

test("the scope has namespaces that are allowed or denied", () => {
  const scoped = (annotations: object) =>
    parsed({ annotations: { [RANGES]: "10.2.0.0/16", ...annotations } }).fact?.scope.namespaces;
  assert.deepEqual(scoped({ [ALLOWED]: "shop, team-*", [DENIED]: "team-b" }), {
    ...{ allowed: ["shop", "team-*"], denied: ["team-b"] },
  });
  assert.deepEqual(scoped({ [DENIED]: "*" }), { denied: ["*"] });
});

const MANY = Array.from({ length: 257 }, (_, i) => `n${i}`).join();
/** Values of a part of a Secret that make the whole Secret invalid, and the reason. */
const INVALID: readonly (readonly [(value: unknown) => object, string, ...unknown[]])[] = [
  ...[ALLOWED, DENIED].map(
    (key) =>
      [
        (value: unknown) => ({ annotations: { [RANGES]: "10.2.0.0/16", [key]: value } }),
        `invalid-name metadata.annotations[${key}]`,
        ...["", "a,", "A", "a/b", "*-a", "a**", 5, MANY],
      ] as const,
  ),
  [
    (value) => ({ annotations: { [RANGES]: value } }),
    `invalid-cidr metadata.annotations[${RANGES}]`,
    ...["", "10.2.0.0/16,", "10.2.3.4/16", "everything", 7, [], "::/0,".repeat(300)],
  ],
  [() => ({ annotations: {} }), `endpoint-cidrs-missing metadata.annotations[${RANGES}]`, "none"],
  [
    (value) => ({ labels: { "clusterset-proxy.io/peer": value } }),
    "invalid-label metadata.labels[clusterset-proxy.io/peer]",
    ...["C2", 2],
  ],
  [
    (value) => ({ data: { kubeconfig: value } }),
    "invalid-object data.kubeconfig",
    ...[undefined, "***", base64(" \n"), "//8=", { token: "t0ps3cret" }],
  ],
  [(data) => ({ data }), "invalid-object data.kubeconfig", [base64(KUBECONFIG)]],
];

for (const [change, told, ...values] of INVALID) {
  test(`a Secret gives no fact: ${told}`, () => {
    for (const value of values) {
      const { fact, problems } = parsePeer(secret(change(value)));
      const found = problems.map(({ reason, field }) => `${reason} ${field}`);
      assert.deepEqual([fact, found], [undefined, [told]], JSON.stringify(value));
    }
  });
}

test("problems never show the content of a Secret", async () => {
  const value = fc.oneof(
    fc.constantFrom(base64("t0ps3cret"), "t0ps3cret", `${base64("t0ps3cret")}*`),
    fc.constantFrom({ t0ps3cret: "t0ps3cret" }, ["t0ps3cret"], 0, null),
  );
  const data = fc.oneof(
    value,
    value.map((kubeconfig) => ({ kubeconfig })),
  );
  await forAll([data, fc.constantFrom("c2", "C2")], (given, cluster) => {
    const { problems } = parsePeer(
      secret({ labels: { "clusterset-proxy.io/peer": cluster }, data: given }),
    );
    assert.doesNotMatch(JSON.stringify(problems), /t0ps3cret|dDBwczNjcmV0/);
  });
});

test("parsing any Secret terminates", () =>
  forAll([fc.anything(), fc.anything(), fc.anything()], (labels, data, annotations) => {
    parsePeer(secret({ labels, data, annotations }));
    parsePeer(labels);
  }));
