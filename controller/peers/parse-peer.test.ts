import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { scopeText } from "../model/peer-scope.ts";
import { parsePeer } from "./parse-peer.ts";

const KUBECONFIG = "apiVersion: v1\nusers: [{ user: { token: t0ps3cret } }]\n";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

function secret(
  labels: unknown = { "clusterset-proxy.io/peer": "c2" },
  data: unknown = { kubeconfig: base64(KUBECONFIG) },
  annotations: unknown = { "clusterset-proxy.io/endpoint-cidrs": "10.2.0.0/16" },
): unknown {
  const metadata = { namespace: "clusterset-proxy", name: "peer-c2", labels, annotations };
  return { metadata, type: "Opaque", data };
}

function ranges(annotation: unknown) {
  const annotations = { "clusterset-proxy.io/endpoint-cidrs": annotation };
  return parsePeer(secret(undefined, undefined, annotations));
}

test("parses kubeconfig and endpoint ranges of a peer's Secret", () => {
  const { fact, problems } = ranges("10.2.0.0/16, fd00:2::/48");
  assert.deepEqual(problems, []);
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

test("a Secret without endpoint ranges gives no fact; one with every address is used, and reported", () => {
  const missing = parsePeer(secret(undefined, undefined, {}));
  assert.equal(missing.fact, undefined);
  assert.deepEqual(
    missing.problems.map(({ reason }) => reason),
    ["endpoint-cidrs-missing"],
  );
  const { fact, problems } = ranges("0.0.0.0/0,::/0");
  assert.equal(fact?.scope.endpointCidrs.length, 2);
  assert.deepEqual(
    problems.map(({ reason }) => reason),
    ["endpoint-cidrs-open", "endpoint-cidrs-open"],
  );
});

test("a Secret without the label is ignored", () => {
  assert.deepEqual(parsePeer(secret({ app: "x" })), {
    object: "Secret clusterset-proxy/peer-c2",
    key: "clusterset-proxy/peer-c2",
    problems: [],
  });
});

test("the scope has namespaces that are allowed or denied; an invalid one makes the whole Secret invalid", () => {
  const scoped = (allowed: unknown, denied?: unknown) =>
    parsePeer(
      secret(undefined, undefined, {
        "clusterset-proxy.io/endpoint-cidrs": "10.2.0.0/16",
        "clusterset-proxy.io/allowed-namespaces": allowed,
        "clusterset-proxy.io/denied-namespaces": denied,
      }),
    );
  const { fact, problems } = scoped("shop, team-*", "team-b");
  assert.deepEqual(problems, []);
  assert.deepEqual(fact?.scope.namespaces, { allowed: ["shop", "team-*"], denied: ["team-b"] });
  assert.deepEqual(scoped(undefined, "*").fact?.scope.namespaces, { denied: ["*"] });
  const many = Array.from({ length: 257 }, (_, i) => `n${i}`).join();
  for (const invalid of ["", "a,", "A", "a/b", "*-a", "a**", 5, many]) {
    for (const one of [scoped(invalid), scoped(undefined, invalid)]) {
      assert.equal(one.fact, undefined, String(invalid));
      assert.deepEqual(
        one.problems.map(({ reason }) => reason),
        ["invalid-name"],
      );
    }
  }
});

test("an invalid range or too many ranges make the whole Secret invalid", () => {
  for (const wrong of [
    "",
    "10.2.0.0/16,",
    "10.2.3.4/16",
    "everything",
    7,
    [],
    "::/0,".repeat(300),
  ]) {
    const { fact, problems } = ranges(wrong);
    assert.equal(fact, undefined, String(wrong));
    assert.deepEqual(
      problems.map(({ reason, field }) => `${reason} ${field}`),
      ["invalid-cidr metadata.annotations[clusterset-proxy.io/endpoint-cidrs]"],
    );
  }
});

test("a Secret without a valid ID or kubeconfig gives no fact", () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [secret({ "clusterset-proxy.io/peer": "C2" }), "invalid-label"],
    [secret({ "clusterset-proxy.io/peer": 2 }), "invalid-label"],
    [secret(undefined, {}), "invalid-object"],
    [secret(undefined, { kubeconfig: "***" }), "invalid-object"],
    [secret(undefined, { kubeconfig: base64(" \n") }), "invalid-object"],
    [secret(undefined, { kubeconfig: "//8=" }), "invalid-object"],
    [secret(undefined, { kubeconfig: { token: "t0ps3cret" } }), "invalid-object"],
    [secret(undefined, [base64(KUBECONFIG)]), "invalid-object"],
  ];
  for (const [object, reason] of cases) {
    const { fact, problems } = parsePeer(object);
    assert.deepEqual([fact, problems.map((problem) => problem.reason)], [undefined, [reason]]);
  }
});

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
    const { problems } = parsePeer(secret({ "clusterset-proxy.io/peer": cluster }, given));
    assert.doesNotMatch(JSON.stringify(problems), /t0ps3cret|dDBwczNjcmV0/);
  });
});

test("parsing any Secret terminates", () =>
  forAll([fc.anything(), fc.anything(), fc.anything()], (labels, data, annotations) => {
    parsePeer(secret(labels, data, annotations));
    parsePeer(labels);
  }));
