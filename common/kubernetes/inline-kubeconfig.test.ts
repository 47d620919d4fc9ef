import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { type InlineKubeconfig, KUBECONFIG_EXCEPTIONS, restricted } from "./inline-kubeconfig.ts";

const SERVER = "https://c2:6443";

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly more?: object;
}

/** A kubeconfig with more fields for its cluster, its user and itself. */
function text({ cluster = {}, user = {}, more = {} }: Parts): string {
  return JSON.stringify({
    "current-context": "c2",
    contexts: [{ name: "c2", context: { cluster: "c2", user: "u2", namespace: "n" } }],
    clusters: [{ name: "c2", cluster: { server: SERVER, ...cluster } }],
    users: [{ name: "u2", user: { token: "t0ps3cret", ...user } }],
    ...more,
  });
}

const of = (parts: Parts, allowed?: InlineKubeconfig["allowed"]) =>
  restricted({ text: text(parts), from: "Secret x/y", ...(allowed && { allowed }) });

/** The only cluster and the only user of the result. */
function partsOf(result: string) {
  const { clusters, users } = JSON.parse(result);
  return [clusters[0].cluster, users[0].user];
}

test("the current context is kept, with data that is inline, and nothing else", () => {
  const cluster = { "certificate-authority-data": "Y2E=", "tls-server-name": "api" };
  const user = { "client-certificate-data": "Yw==", "client-key-data": "aw==" };
  const ignored = { extensions: [{ name: "minikube" }], "certificate-authority": "" };
  const more = {
    users: [
      { name: "u2", user: { token: "t", ...user } },
      { name: "other", user: { exec: {} } },
    ],
  };
  assert.deepEqual(partsOf(of({ cluster: { ...cluster, ...ignored }, more })), [
    { server: SERVER, ...cluster },
    { token: "t", ...user },
  ]);
});

const REFUSED: readonly (readonly [string, Parts])[] = [
  ["cluster.certificate-authority", { cluster: { "certificate-authority": "/etc/passwd" } }],
  ["cluster.disable-compression", { cluster: { "disable-compression": true } }],
  ["user.client-certificate", { user: { "client-certificate": "/etc/passwd" } }],
  ["user.client-key", { user: { "client-key": "/etc/passwd" } }],
  ["user.tokenFile", { user: { tokenFile: "/var/run/secrets/token" } }],
  ["user.token-file", { user: { "token-file": "/var/run/secrets/token" } }],
  ["user.exec", { user: { exec: { command: "id" } } }],
  ["user.auth-provider", { user: { "auth-provider": { name: "gcp", config: {} } } }],
  ["user.as-groups", { user: { "as-groups": ["system:masters"] } }],
  ["user.__proto__", { user: JSON.parse('{"__proto__": {"exec": {}}}') }],
];

for (const [field, parts] of REFUSED) {
  test(`${field} is refused, whatever is allowed`, () => {
    assert.throws(() => of(parts, KUBECONFIG_EXCEPTIONS), { message: `${field} is not allowed` });
  });
}

for (const [allowed, refused, parts] of [
  ["insecure-skip-tls-verify", "not allowed", { cluster: { "insecure-skip-tls-verify": true } }],
  ["proxy-url", "not allowed", { cluster: { "proxy-url": "http://proxy:3128" } }],
  ["as", "not allowed", { user: { as: "system:admin" } }],
  ["http", "not an https URL", { cluster: { server: "http://c2:6443" } }],
] as const) {
  test(`${allowed} is refused unless it is allowed`, () => {
    const [[part, fields] = assert.fail()] = Object.entries(parts);
    const [[name, value] = assert.fail()] = Object.entries(fields);
    assert.throws(() => of(parts), { message: `${part}.${name} is ${refused}` });
    const [cluster, user] = partsOf(of(parts, [allowed]));
    assert.equal({ ...cluster, ...user }[name], value);
  });
}

test("a server that is no URL, or of another scheme, is refused", () => {
  for (const server of ["", "c2:6443", "file:///etc/passwd", "unix:///run/docker.sock", 7]) {
    assert.throws(
      () => of({ cluster: { server } }, KUBECONFIG_EXCEPTIONS),
      /^Error: cluster\.server/,
    );
  }
});

test("a context without a cluster or a user is refused", () => {
  const contexts = (context: object) => ({ contexts: [{ name: "c2", context }] });
  assert.throws(() => of({ more: contexts({ user: "u2" }) }), /names no cluster/);
  assert.throws(() => of({ more: contexts({ cluster: "c2" }) }), /names no user/);
  assert.throws(() => of({ more: { contexts: "c2" } }), /names no cluster/);
});

test("an error quotes no value", async () => {
  await forAll(
    [fc.json({ maxDepth: 3 }), fc.constantFrom("cluster", "user", "more")],
    (json, part) => {
      const value = JSON.parse(json);
      try {
        of({ [part]: { token: "t0ps3cret", server: "t0ps3cret", extra: value } });
      } catch (error) {
        assert.doesNotMatch(String(error), /t0ps3cret/);
      }
    },
  );
  for (const broken of ["users: [{ token: t0ps3cret", "- t0ps3cret", "", "clusters: t0ps3cret"]) {
    assert.throws(
      () => restricted({ text: broken, from: "Secret x/y" }),
      (error) => !String(error).includes("t0ps3cret"),
    );
  }
});
