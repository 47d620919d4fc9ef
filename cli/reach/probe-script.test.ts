import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createTcpServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, mock, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer } from "node:tls";
import { CertificateAuthority } from "../../test/apiserver/certificates.ts";
import { type Attempt, faultOf, parseAttempts } from "./attempt.ts";
import {
  nodeProbeScript,
  PAGE_PORT,
  type PodTarget,
  probeScript,
  type ServerTarget,
} from "./probe-script.ts";

// The script as it runs in pods, on loopback addresses.

const HERE = "127.0.7.1";
const THERE = "127.0.7.2";
const authority = new CertificateAuthority("ours");
const ca = Buffer.from(authority.certificate).toString("base64");
const closing: (() => unknown)[] = [];

after(() => Promise.all(closing.map((close) => close())));

async function listening(server: Server): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  closing.push(() => server.close());
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** An API server with a certificate of `ours` for a name. */
function apiServer(name: string): Promise<number> {
  const { certificate, key } = authority.certify({ name });
  return listening(createServer({ cert: certificate, key }));
}

function probe(host: string, name: string, servers: readonly ServerTarget[]): ChildProcess {
  const targets = servers.map((server) => JSON.stringify(server));
  const argv = ["-e", probeScript(host), "--", name, ...targets];
  const child = spawn(process.execPath, argv, { stdio: "inherit" });
  closing.push(() => child.kill());
  return child;
}

async function attempts(pods: readonly PodTarget[]): Promise<readonly Attempt[]> {
  const url = `http://${HERE}:${PAGE_PORT}/?pods=${encodeURIComponent(JSON.stringify(pods))}`;
  for (;;) {
    const page = await fetch(url).catch(() => undefined);
    if (page !== undefined) return parseAttempts(await page.text()) ?? [];
    await sleep(50);
  }
}

let all: readonly Attempt[];
before(async () => {
  mock.timers.enable({ apis: ["Date"], now: Date.now() - 7 * 86_400_000 });
  const expired = await apiServer("localhost");
  mock.timers.reset();
  const well = await apiServer("localhost");
  const host = "localhost";
  const silent = createTcpServer((socket) => closing.push(() => socket.destroy()));
  const stranger = Buffer.from(new CertificateAuthority("ours").certificate).toString("base64");
  const closed = createTcpServer();
  const closedPort = await listening(closed);
  closed.close();
  probe(HERE, "run/here", [
    { to: "well", host, port: well, ca },
    { to: "expired", host, port: expired, ca },
    { to: "unknown-ca", host, port: well, ca: stranger },
    { to: "no CA is trusted", host, port: well },
    { to: "wrong-name", host: "127.0.0.1", port: well, ca },
    { to: "refused", host, port: closedPort, ca },
    { to: "no-answer", host, port: await listening(silent), ca },
    { to: "unknown-host", host: "api.invalid", port: well, ca },
    { to: "an invalid CA", host, port: well, ca: "aGVsbG8=" },
  ]);
  probe(THERE, "run/there", []);
  // Its port listens as soon as its page does.
  while (!(await fetch(`http://${THERE}:${PAGE_PORT}/`).catch(() => undefined))?.ok)
    await sleep(50);
  all = await attempts([
    { to: "there", address: THERE, name: "run/there" },
    { to: "another", address: THERE, name: "run/another" },
    { to: "nowhere", address: "127.0.7.3", name: "run/nowhere" },
  ]);
});

test("an API server is reached if its certificate is of the given CA, for its name, and valid; else it says what is wrong", () => {
  const servers = all.filter(({ kind }) => kind === "server");
  assert.deepEqual(Object.fromEntries(servers.map((one) => [one.to, faultOf(one)])), {
    well: undefined,
    expired: "expired",
    "unknown-ca": "unknown-ca",
    "no CA is trusted": "unknown-ca",
    "wrong-name": "wrong-name",
    refused: "refused",
    "no-answer": "no-answer",
    "unknown-host": "unknown-host",
    "an invalid CA": "unknown-ca",
  });
});

test("a pod is reached if it answers with its own name, and another one at its address is noticed", () => {
  const pods = all.filter(({ kind }) => kind === "pod");
  assert.deepEqual(
    pods.map((one) => [one.to, one.address, faultOf(one)]),
    [
      ["there", THERE, undefined],
      ["another", THERE, "other"],
      ["nowhere", "127.0.7.3", "refused"],
    ],
  );
});

test("a node reaches the same pods, leaves its results in a file, and ends", () => {
  const directory = mkdtempSync(join(tmpdir(), "clusterset-node-probe-"));
  closing.push(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "message");
  const targets = ["there", "another"].map((to) =>
    JSON.stringify({ to, address: THERE, name: `run/${to}` }),
  );
  execFileSync(process.execPath, ["-e", nodeProbeScript(file), "--", ...targets]);
  const found = parseAttempts(readFileSync(file, "utf8")) ?? [];
  assert.deepEqual(
    found.map((one) => [one.to, one.kind, one.address, faultOf(one)]),
    [
      ["there", "node", THERE, undefined],
      ["another", "node", THERE, "other"],
    ],
  );
});
