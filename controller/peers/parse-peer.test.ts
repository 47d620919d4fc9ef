import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type PeerFact, parsePeer, peersByCluster } from "./parse-peer.ts";

const KUBECONFIG = "apiVersion: v1\nusers: [{ user: { token: t0ps3cret } }]\n";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

function secret(
  labels: unknown = { "clusterset-proxy.io/peer": "c2" },
  data: unknown = { kubeconfig: base64(KUBECONFIG) },
  annotations: unknown = {},
): unknown {
  const metadata = { namespace: "clusterset-proxy", name: "peer-c2", labels, annotations };
  return { metadata, type: "Opaque", data };
}

function ranges(annotation: unknown) {
  const annotations = { "clusterset-proxy.io/endpoint-cidrs": annotation };
  return parsePeer(secret(undefined, undefined, annotations));
}

test("a Secret says how to reach a peer, and where its endpoints lie", () => {
  const { fact, problems } = ranges("10.2.0.0/16, fd00:2::/48");
  assert.deepEqual(problems, []);
  assert.deepEqual(
    { ...fact, endpointCidrs: fact?.endpointCidrs.map(({ text }) => text) },
    {
      key: "clusterset-proxy/peer-c2",
      cluster: "c2",
      kubeconfig: KUBECONFIG,
      endpointCidrs: ["10.2.0.0/16", "fd00:2::/48"],
    },
  );
  assert.deepEqual(parsePeer(secret()).fact?.endpointCidrs, []);
});

test("a Secret that is no peer's is none of our business", () => {
  assert.deepEqual(parsePeer(secret({ app: "x" })), {
    object: "Secret clusterset-proxy/peer-c2",
    key: "clusterset-proxy/peer-c2",
    problems: [],
  });
});

test("a range that is none, or too many, leave the whole Secret out: the peer stays as it was", () => {
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

test("a peer without a usable id or kubeconfig is none", () => {
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

test("no problem shows anything of what a Secret holds", () => {
  const value = fc.oneof(
    fc.constantFrom(base64("t0ps3cret"), "t0ps3cret", `${base64("t0ps3cret")}*`),
    fc.constantFrom({ t0ps3cret: "t0ps3cret" }, ["t0ps3cret"], 0, null),
  );
  const data = fc.oneof(
    value,
    value.map((kubeconfig) => ({ kubeconfig })),
  );
  fc.assert(
    fc.property(data, fc.constantFrom("c2", "C2"), (given, cluster) => {
      const { problems } = parsePeer(secret({ "clusterset-proxy.io/peer": cluster }, given));
      assert.doesNotMatch(JSON.stringify(problems), /t0ps3cret|dDBwczNjcmV0/);
    }),
  );
});

test("whatever a Secret is, parsing it ends", () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), fc.anything(), (labels, data, annotations) => {
      parsePeer(secret(labels, data, annotations));
      parsePeer(labels);
    }),
  );
});

test("of two Secrets for one cluster, the first by name counts, in whatever order they come", () => {
  const peer = (key: PeerFact["key"], cluster: string): PeerFact => {
    return { key, cluster, kubeconfig: KUBECONFIG, endpointCidrs: [] };
  };
  const facts = [peer("n/b", "c2"), peer("n/a", "c2"), peer("n/c", "c3")];
  for (const order of [facts, facts.toReversed()]) {
    const { peers, duplicates } = peersByCluster(order);
    assert.deepEqual(
      [...peers].map(([cluster, { key }]) => `${cluster} ${key}`),
      ["c2 n/a", "c3 n/c"],
    );
    assert.deepEqual(
      duplicates.map(({ key }) => key),
      ["n/b"],
    );
  }
});
