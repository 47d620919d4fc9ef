import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { CertificateAuthority } from "../../test/apiserver/certificates.ts";
import { FakeApiServer } from "../../test/doubles/fake-api-server.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { logLines } from "../../test/doubles/log-lines.ts";
import { connect } from "./connect.ts";
import { expiriesOf } from "./credential-expiry.ts";
import { Credentials } from "./credentials.ts";

async function load(fake: FakeApiServer, clock = new FakeClock()) {
  const { log, lines } = logLines();
  const credentials = await Credentials.load({ kubeconfig: fake.kubeconfig, log, clock });
  const stop = new AbortController();
  const authorization = async () => (await credentials.access(stop.signal)).headers.authorization;
  /** As of a second later. */
  const later = async () => {
    clock.advance(1000);
    return authorization();
  };
  return { credentials, authorization, later, lines, stop };
}

test("a token file is read once a second, and after a rejection immediately, without its line feed", async () => {
  await using fake = await FakeApiServer.start();
  writeFileSync(fake.file("token"), "one\n");
  fake.writeKubeconfig({ tokenFile: "token" });
  const { credentials, authorization, later } = await load(fake);
  assert.equal(await authorization(), "Bearer one");
  writeFileSync(fake.file("token"), "two\n");
  assert.equal(await authorization(), "Bearer one");
  assert.equal(await later(), "Bearer two");
  writeFileSync(fake.file("token"), "three");
  credentials.refused();
  assert.equal(await authorization(), "Bearer three");
  rmSync(fake.file("token"));
  await assert.rejects(later(), { reason: "no-credentials", message: /ENOENT/ });
});

test("a partly replaced file is no-credentials, and no other error", async () => {
  await using fake = await FakeApiServer.start();
  fake.writeKubeconfig({ tokenFile: "token" });
  const { authorization } = await load(fake);
  for (const text of ["", "\n", "one\ntwo", "\0"]) {
    writeFileSync(fake.file("token"), text);
    await assert.rejects(authorization(), { reason: "no-credentials" }, JSON.stringify(text));
  }
  fake.writeKubeconfig({ "client-certificate": "cert", "client-key": "key" });
  writeFileSync(fake.file("cert"), "-----BEGIN");
  writeFileSync(fake.file("key"), "");
  await assert.rejects(authorization(), { reason: "no-credentials" });
});

test("a replaced kubeconfig is read; while it is invalid, the last valid one stays", async () => {
  await using fake = await FakeApiServer.start();
  const { later, lines } = await load(fake);
  assert.equal(await later(), "Bearer first");
  fake.writeKubeconfig({ username: "u", password: "p" });
  assert.equal(await later(), `Basic ${btoa("u:p")}`);
  writeFileSync(fake.kubeconfig, "{");
  assert.equal(await later(), `Basic ${btoa("u:p")}`);
  rmSync(fake.kubeconfig);
  assert.equal(await later(), `Basic ${btoa("u:p")}`);
  assert.deepEqual(lines, ["Reading kubeconfig failed; using the last valid one"]);
  fake.writeKubeconfig({ token: "third" });
  assert.equal(await later(), "Bearer third");
});

test("a kubeconfig that is missing twice is logged twice, also if the same file returns", async () => {
  await using fake = await FakeApiServer.start();
  const { later, lines } = await load(fake);
  const away = `${fake.kubeconfig}.away`;
  for (let times = 0; times < 2; times++) {
    renameSync(fake.kubeconfig, away);
    assert.equal(await later(), "Bearer first");
    renameSync(away, fake.kubeconfig);
    assert.equal(await later(), "Bearer first");
  }
  const line = "Reading kubeconfig failed; using the last valid one";
  assert.deepEqual(lines, [line, line]);
});

/** A user whose token a shell script prints. */
function plugin(script: string): object {
  const apiVersion = "client.authentication.k8s.io/v1";
  return { exec: { apiVersion, command: "sh", args: ["-c", script], interactiveMode: "Never" } };
}

test("a failing plugin is no-credentials with the reason; the next request runs it again", async () => {
  await using fake = await FakeApiServer.start();
  fake.writeKubeconfig(plugin("echo no cloud >&2; exit 1"));
  const { authorization } = await load(fake);
  await assert.rejects(authorization(), { reason: "no-credentials", message: /no cloud/ });
  for (const script of ["true", "echo '{}'", "yes", "kill $$"]) {
    fake.writeKubeconfig(plugin(script));
    await assert.rejects(authorization(), { reason: "no-credentials" }, script);
  }
  // Credentials that are not as they should be are in no message.
  fake.writeKubeconfig(plugin("echo token=s3cret"));
  await assert.rejects(authorization(), { message: "The plugin printed no JSON" });
  fake.writeKubeconfig({ exec: { command: "/nowhere", installHint: "get it\n" } });
  await assert.rejects(authorization(), {
    reason: "no-credentials",
    message: /ENOENT; "get it"$/,
  });
  fake.writeKubeconfig({ exec: { command: "true", interactiveMode: "Always" } });
  await assert.rejects(authorization(), { message: /interactiveMode Always/ });
  fake.writeKubeconfig({ exec: {} });
  await assert.rejects(authorization(), { reason: "no-credentials" });
});

test("a hanging plugin runs once for all waiting requests, is killed after 30 seconds, and started again", async () => {
  await using fake = await FakeApiServer.start();
  const [runs, go] = [fake.file("runs"), fake.file("go")];
  // What it waits for outlives it, with its standard output.
  // It ends with its folder, too: a test that is killed must not leave it running.
  const wait = `until [ -e ${go} ] || [ ! -e ${runs} ]; do sleep 0.01; done`;
  const script = `echo run >> ${runs}; ${wait}; wc -l < ${runs}`;
  fake.writeKubeconfig(plugin(`n=$(${script}); echo '{"status":{"token":"'$n'"}}'`));
  const clock = new FakeClock();
  const { authorization } = await load(fake, clock);
  const late = [authorization(), authorization()].map((one) =>
    assert.rejects(one, { reason: "no-credentials" }),
  );
  while (!existsSync(runs)) await setImmediate();
  clock.advance(30_000);
  await Promise.all(late);
  assert.equal(clock.pending, 0);
  writeFileSync(go, "");
  assert.equal(await authorization(), "Bearer 2");
});

test("a cancelled request does not wait for a hanging plugin, and the plugin can be killed", async () => {
  await using fake = await FakeApiServer.start();
  const clock = new FakeClock();
  fake.writeKubeconfig(plugin("exec sleep 60"));
  const { authorization, credentials, stop } = await load(fake, clock);
  const stopped = assert.rejects(authorization(), { name: "AbortError" });
  stop.abort();
  await stopped;
  credentials.stop();
  while (clock.pending > 0) await setImmediate();
});

test("the credentials of a plugin are used until they expire", async () => {
  await using fake = await FakeApiServer.start();
  const runs = fake.file("runs");
  const run = `echo >> ${runs}; n=$(wc -l < ${runs}); `;
  const until = (time: string) =>
    plugin(`${run} echo '{"status":{"token":"'$n'","expirationTimestamp":"${time}"}}'`);
  fake.writeKubeconfig(until("2999-01-01T00:00:00Z"));
  const { authorization } = await load(fake);
  assert.equal(await authorization(), "Bearer 1");
  assert.equal(await authorization(), "Bearer 1");
  fake.writeKubeconfig(until("2001-01-01T00:00:00Z"));
  assert.equal(await authorization(), "Bearer 2");
  assert.equal(await authorization(), "Bearer 3");
});

test("a plugin beside the kubeconfig is found, and gets arguments, environment and KUBERNETES_EXEC_INFO", async () => {
  await using fake = await FakeApiServer.start();
  const text = `#!/bin/sh\necho '{"status":{"token":"'$1-$OWN-$(echo "$KUBERNETES_EXEC_INFO" | tr -d '"{}' | cut -d, -f1,2)'"}}'`;
  writeFileSync(fake.file("login"), text, { mode: 0o755 });
  const apiVersion = "client.authentication.k8s.io/v1";
  const env = [{ name: "OWN", value: "b" }];
  fake.writeKubeconfig({ exec: { apiVersion, command: "./login", args: ["a"], env } });
  const { authorization } = await load(fake);
  assert.equal(await authorization(), `Bearer a-b-apiVersion:${apiVersion},kind:ExecCredential`);
});

test("without a valid kubeconfig, there is no connection", async () => {
  await using fake = await FakeApiServer.start();
  const { log } = logLines();
  const refused = (kubeconfig: string) =>
    assert.rejects(connect({ kubeconfig, log }), { code: "CSP_KUBECONFIG" });
  await refused(fake.file("none"));
  for (const text of ["", "{", "[]", "current-context: x", "clusters: [{}]"]) {
    writeFileSync(fake.file("broken"), text);
    await refused(fake.file("broken"));
  }
  const good = readFileSync(fake.kubeconfig, "utf8");
  for (const server of ["10.0.0.1:6443", "api.example", "ftp://10.0.0.1", "https://"]) {
    writeFileSync(fake.file("broken"), good.replace(/http:[^"]*/, server));
    await refused(fake.file("broken"));
  }
});

const jwt = (claims: object): string =>
  ["e30", Buffer.from(JSON.stringify(claims)).toString("base64url"), "c2ln"].join(".");
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` }, tls: {} });

test("a token expires when its claim says so, and is distinguished from one in a file that is replaced", () => {
  const access = bearer(jwt({ exp: 1_800_000_000, sub: "system:serviceaccount:a:b" }));
  assert.deepEqual(expiriesOf(access, false), [{ credential: "token", at: 1_800_000_000 }]);
  assert.deepEqual(expiriesOf(access, true), [{ credential: "token-file", at: 1_800_000_000 }]);
});

test("a client certificate expires at the end of its validity", () => {
  const { certificate } = new CertificateAuthority("test").certify({ name: "peer" });
  const [one, ...more] = expiriesOf({ headers: {}, tls: { cert: certificate } }, false);
  assert.deepEqual(more, []);
  assert.equal(one?.credential, "certificate");
  // Certificates of tests are valid for a day.
  const hours = ((one?.at ?? 0) * 1000 - Date.now()) / 3_600_000;
  assert.ok(hours > 23 && hours <= 24, `${hours}`);
});

test("tokens without an end, and anything that is no credential, have no expiry", () => {
  for (const token of [jwt({}), jwt({ exp: "soon" }), jwt({ exp: null }), "opaque", "a.%%%.c"]) {
    assert.deepEqual(expiriesOf(bearer(token), false), [], token);
  }
  assert.deepEqual(expiriesOf({ headers: { authorization: "Basic YTpi" }, tls: {} }, false), []);
  assert.deepEqual(expiriesOf({ headers: {}, tls: { cert: "not PEM" } }, false), []);
});
