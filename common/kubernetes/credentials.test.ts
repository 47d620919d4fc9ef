import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { FakeApiServer } from "../../test/support/fake-api-server.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { logLines } from "../../test/support/log-lines.ts";
import { connect } from "./connect.ts";
import { Credentials } from "./credentials.ts";

async function load(fake: FakeApiServer, clock = new FakeClock()) {
  const { log, lines } = logLines();
  const credentials = await Credentials.load({ kubeconfig: fake.kubeconfig, log, clock });
  const authorization = async () => (await credentials.access()).headers.authorization;
  return { credentials, authorization, lines };
}

test("a token file is read for every request, and its line feed is no part of the token", async () => {
  await using fake = await FakeApiServer.start();
  writeFileSync(fake.file("token"), "one\n");
  fake.writeKubeconfig({ tokenFile: "token" });
  const { authorization } = await load(fake);
  assert.equal(await authorization(), "Bearer one");
  writeFileSync(fake.file("token"), "two\n");
  assert.equal(await authorization(), "Bearer two");
  rmSync(fake.file("token"));
  await assert.rejects(authorization(), { reason: "no-credentials", message: /ENOENT/ });
});

test("a kubeconfig that is replaced is followed; while it is broken, the last good one stays", async () => {
  await using fake = await FakeApiServer.start();
  const { authorization, lines } = await load(fake);
  assert.equal(await authorization(), "Bearer first");
  fake.writeKubeconfig({ username: "u", password: "p" });
  assert.equal(await authorization(), `Basic ${btoa("u:p")}`);
  writeFileSync(fake.kubeconfig, "{");
  assert.equal(await authorization(), `Basic ${btoa("u:p")}`);
  rmSync(fake.kubeconfig);
  assert.equal(await authorization(), `Basic ${btoa("u:p")}`);
  assert.deepEqual(lines, ["The kubeconfig cannot be read; the last one stays."]);
  fake.writeKubeconfig({ token: "third" });
  assert.equal(await authorization(), "Bearer third");
});

/** A user whose token a shell script prints. */
function plugin(script: string): object {
  const apiVersion = "client.authentication.k8s.io/v1";
  return { exec: { apiVersion, command: "sh", args: ["-c", script], interactiveMode: "Never" } };
}

test("a plugin is asked once, and again after the server refused what it gave", async () => {
  await using fake = await FakeApiServer.start();
  const runs = fake.file("runs");
  const script = `echo >> ${runs}; echo '{"status":{"token":"run-'$(wc -l < ${runs})'"}}'`;
  fake.writeKubeconfig(plugin(script));
  const { credentials, authorization } = await load(fake);
  assert.equal(await authorization(), "Bearer run-1");
  assert.equal(await authorization(), "Bearer run-1");
  credentials.refused();
  assert.equal(await authorization(), "Bearer run-2");
});

test("a plugin that fails gives no credentials, and one that hangs is not started again", async () => {
  await using fake = await FakeApiServer.start();
  fake.writeKubeconfig(plugin("echo no cloud >&2; exit 1"));
  const clock = new FakeClock();
  const { authorization } = await load(fake, clock);
  await assert.rejects(authorization(), { reason: "no-credentials", message: /no cloud/ });
  const [runs, go] = [fake.file("runs"), fake.file("go")];
  const script = `echo run >> ${runs}; until [ -e ${go} ]; do sleep 0.01; done; wc -l < ${runs}`;
  fake.writeKubeconfig(plugin(`n=$(${script}); echo '{"status":{"token":"'$n'"}}'`));
  const late = assert.rejects(authorization(), { reason: "no-credentials" });
  clock.advance(30_000);
  await late;
  const second = authorization();
  writeFileSync(go, "");
  assert.equal(await second, "Bearer 1");
});

test("without a usable kubeconfig, nothing is connected to", async () => {
  await using fake = await FakeApiServer.start();
  const { log } = logLines();
  const refused = (kubeconfig: string) =>
    assert.rejects(connect({ kubeconfig, log }), { code: "CSP_KUBECONFIG" });
  await refused(fake.file("none"));
  for (const text of ["", "{", "[]", "current-context: x", "clusters: [{}]"]) {
    writeFileSync(fake.file("broken"), text);
    await refused(fake.file("broken"));
  }
});
