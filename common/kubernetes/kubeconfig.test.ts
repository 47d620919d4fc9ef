import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { FakeApiServer } from "../../test/doubles/fake-api-server.ts";
import { logLines } from "../../test/doubles/log-lines.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { connect } from "./connect.ts";
import { type InlineKubeconfig, KUBECONFIG_EXCEPTIONS, restricted } from "./inline-kubeconfig.ts";
import {
  contextNames,
  kubeconfigFiles,
  mergedKubeconfig,
  readKubeconfigOnce,
} from "./kubeconfig-files.ts";

const directory = mkdtempSync(join(tmpdir(), "kubeconfig-"));
after(() => rmSync(directory, { recursive: true }));

function write(name: string, config: object): string {
  const path = join(directory, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, JSON.stringify(config));
  return path;
}

const named = (name: string, part: string, value: object) => ({ name, [part]: value });
const FIRST = write("a/config", {
  clusters: [named("one", "cluster", { server: "https://one", "certificate-authority": "ca.crt" })],
  users: [named("ann", "user", { tokenFile: "token", exec: { command: "./login" } })],
  contexts: [named("one", "context", { cluster: "one", user: "ann" })],
});
const SECOND = write("b/config", {
  "current-context": "two",
  clusters: [named("one", "cluster", { server: "https://other" })],
  users: [named("bob", "user", { exec: { command: "login" } })],
  contexts: [named("two", "context", { cluster: "one", user: "bob" })],
});

test("of entries with one name, that of the first file counts, and paths are relative to their file", () => {
  const merged = mergedKubeconfig({ files: [FIRST, SECOND] });
  const ca = join(directory, "a/ca.crt");
  assert.deepEqual(merged.clusters, [
    named("one", "cluster", { server: "https://one", "certificate-authority": ca }),
  ]);
  assert.deepEqual(merged.users, [
    named("ann", "user", {
      tokenFile: join(directory, "a/token"),
      exec: { command: join(directory, "a/login") },
    }),
    named("bob", "user", { exec: { command: "login" } }),
  ]);
  assert.equal(merged["current-context"], "two");
  assert.deepEqual(contextNames(merged), ["one", "two"]);
});

test("a context that no file has is an error that names those that there are", () => {
  const options = { files: [FIRST, SECOND], context: "three" };
  assert.throws(() => mergedKubeconfig(options), {
    code: "CSP_KUBECONFIG",
    message: /"three".*one, two/,
  });
  assert.equal(mergedKubeconfig({ files: [FIRST], context: "one" })["current-context"], "one");
});

test("a file that is missing or no YAML is an error that names it", () => {
  const missing = join(directory, "none");
  assert.throws(() => mergedKubeconfig({ files: [missing] }), {
    code: "CSP_KUBECONFIG",
    message: /none/,
  });
  const broken = join(directory, "broken");
  for (const text of ["token: a: s3cret", "a: *s3cret", "a: [\n  s3cret"]) {
    writeFileSync(broken, text);
    assert.throws(
      () => mergedKubeconfig({ files: [broken] }),
      ({ code, message, cause }) =>
        code === "CSP_KUBECONFIG" &&
        /broken: not YAML/.test(message) &&
        !`${message} ${(cause as Error).stack}`.includes("s3cret"),
    );
  }
});

test("each state of a file is read once, and the entries of a context are its own", () => {
  const file = write("c/config", { "current-context": "a" });
  const read = readKubeconfigOnce();
  assert.equal(read(file), read(file));
  write("c/config", { "current-context": "another" });
  assert.deepEqual(read(file), { "current-context": "another" });
  const { clusters, users, contexts } = mergedKubeconfig({
    files: [FIRST, SECOND],
    context: "two",
  });
  assert.deepEqual([clusters.length, users.length, contexts.length], [1, 1, 1]);
});

test("the files are those of the flag, else those of KUBECONFIG that exist, else the user's own", () => {
  assert.deepEqual(kubeconfigFiles("x", `${FIRST}`, "/home/ann"), ["x"]);
  const variable = [FIRST, join(directory, "none"), "", SECOND].join(":");
  assert.deepEqual(kubeconfigFiles(undefined, variable, "/home/ann"), [FIRST, SECOND]);
  assert.deepEqual(kubeconfigFiles(undefined, "/none:/nowhere", ""), ["/none", "/nowhere"]);
  assert.deepEqual(kubeconfigFiles(undefined, undefined, "/home/ann"), ["/home/ann/.kube/config"]);
});

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

/** What is answered to one request by whom the fake server's kubeconfig leads to, once `edit` has been at it. */
async function answered(
  fake: FakeApiServer,
  edit: (kubeconfig: string) => string,
): Promise<string> {
  writeFileSync(fake.kubeconfig, edit(readFileSync(fake.kubeconfig, "utf8")));
  const api = await connect({ kubeconfig: fake.kubeconfig, ...logLines() });
  const { signal } = new AbortController();
  try {
    const { body } = await api.request({ path: "/x", signal, silence: 10_000 });
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    return Buffer.concat(parts).toString();
  } finally {
    await api.close();
  }
}

test("a server may have an IPv6 address and a path", async () => {
  await using fake = await FakeApiServer.start();
  const server = createServer((request, response) => response.end(`${request.url} here`));
  await once(server.listen(0, "::1"), "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://[::1]:${port}/clusters/c1/`;
  const answer = await answered(fake, (text) => text.replace(/http:[^"]*/, url));
  assert.equal(answer, "/clusters/c1/x here");
  server.close();
});

test("requests use the proxy of the kubeconfig", async () => {
  await using fake = await FakeApiServer.start();
  const proxied: string[] = [];
  const proxy = createServer().on("connect", (request, client) => {
    proxied.push(request.url ?? "");
    const server = connectTcp(fake.port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(server).pipe(client);
    });
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const { port } = proxy.address() as AddressInfo;
  fake.answers.push((_, response) => response.end("from behind"));
  const named = `"proxy-url":"http://127.0.0.1:${port}","server":"http://api.invalid:${fake.port}"`;
  const answer = await answered(fake, (text) => text.replace(/"server":"[^"]*"/, named));
  assert.equal(answer, "from behind");
  assert.deepEqual(proxied, [`api.invalid:${fake.port}`]);
  proxy.closeAllConnections();
  proxy.close();
});

test("an inline kubeconfig connects to its server, to an http URL with no other exception", async () => {
  await using fake = await FakeApiServer.start();
  const asked: (string | undefined)[] = [];
  fake.answers.push((request, response) => {
    asked.push(request.headers.authorization);
    response.end();
  });
  const server = `http://127.0.0.1:${fake.port}`;
  const api = await connect({
    kubeconfig: { text: text({ cluster: { server } }), from: "Secret x/y", allowed: ["http"] },
    ...logLines(),
  });
  await api.request({ path: "/x", signal: new AbortController().signal, silence: 10_000 });
  assert.deepEqual(asked, ["Bearer t0ps3cret"]);
  await api.close();
});

test("an inline kubeconfig cannot read a token from a file of this process", async () => {
  await using fake = await FakeApiServer.start();
  const user = { token: undefined, "token-file": fake.kubeconfig };
  const cluster = { server: `http://127.0.0.1:${fake.port}` };
  const from = { from: "Secret x/y", allowed: KUBECONFIG_EXCEPTIONS };
  const kubeconfig = { text: text({ cluster, user }), ...from };
  await assert.rejects(connect({ kubeconfig, ...logLines() }), {
    code: "CSP_KUBECONFIG",
    message: "Secret x/y: user.token-file is not allowed",
  });
});
