import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createTcpServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer } from "node:tls";
import { CertificateAuthority } from "../../test/apiserver/certificates.ts";
import { PLAIN } from "../output/table.ts";
import {
  nodeProbeScript,
  PAGE_PORT,
  type PodTarget,
  probeScript,
  type ServerTarget,
} from "./probe-pod.ts";
import * as report from "./report.ts";

function server(to: string, error?: string): report.Attempt {
  const outcome = error === undefined ? { isConnected: true } : { isConnected: false, error };
  return { to, kind: "server", ms: 1, ...outcome };
}

function pod(to: string, address: string, error?: string): report.Attempt {
  return { ...server(to, error), kind: "pod", address };
}

function node(to: string, address: string, error?: string): report.Attempt {
  return { ...pod(to, address, error), kind: "node" };
}

const ALL = [
  {
    from: "c1",
    attempts: [
      ...[server("c2"), server("c3"), pod("c2", "10.2.0.1"), pod("c3", "10.3.0.1")],
      ...[node("c2", "10.2.0.1"), node("c3", "10.3.0.1", "ETIMEDOUT")],
      node("c3", "fd03::1", "ETIMEDOUT"),
    ],
  },
  {
    from: "c2",
    attempts: [
      server("c1", "ECONNREFUSED"),
      server("c3"),
      pod("c1", "10.1.0.1"),
      pod("c3", "10.3.0.1"),
      pod("c3", "fd03::1", "ETIMEDOUT"),
    ],
  },
  { from: "c3", attempts: [server("hub")] },
];

test("what a node does not reach is one warning for each cluster, and no fault", () => {
  const [warning = "", ...more] = report.nodeWarnings(ALL);
  assert.match(warning, /^a node of c1 does not reach pods of c3, such as 10\.3\.0\.1: timeout: /);
  assert.match(warning, /detection do: without them, it takes up to 7 s/);
  assert.deepEqual(more, []);
  assert.doesNotMatch(report.reachFaults(ALL, () => undefined).join(), /node/);
});

test("clusters that are reached alike share a row; an address that is not reached counts for its cluster", () => {
  assert.equal(
    String(report.reachTable(ALL, PLAIN)),
    `FROM   TO    API SERVER   PODS      PODS FROM A NODE
c1     c2    ok           ok        ok
c1     c3    ok           ok        timeout
c2     c1    refused      ok        -
c2     c3    ok           timeout   -
c3     hub   ok           -         -
`,
  );
});

test("each failure is a sentence with the direction, the address and what it means", () => {
  const urls: Readonly<Record<string, string>> = { c1: "https://10.0.0.1:6443" };
  assert.deepEqual(
    report.reachFaults(ALL, (to) => urls[to]),
    [
      "pods of c2 do not reach the API server of c1 at https://10.0.0.1:6443: refused: nothing listens there, or a firewall rejects it.",
      "pods of c2 do not reach pods of c3, such as fd03::1: timeout: no answer: a firewall drops packets, or there is no route.",
    ],
  );
});

test("the guide has every word for why something is not reached", () => {
  const guide = readFileSync(`${import.meta.dirname}/../../docs/guides/kubectl-plugin.md`, "utf8");
  const words = Object.keys(report.MEANINGS).filter((word) => !guide.includes(`\`${word}\``));
  assert.deepEqual(words, []);
});

// The script as it runs in pods, on loopback addresses.

/** Addresses of this process: the page has a fixed port, and a run that was killed may still hold it. */
const [HERE = "", THERE = "", NOWHERE = ""] = [1, 2, 3].map(
  (host) => `127.${100 + ((process.pid >> 8) % 100)}.${process.pid % 256}.${host}`,
);
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
function apiServer(name: string, days?: 1 | -1): Promise<number> {
  const { certificate, key } = authority.certify({ name }, days);
  return listening(createServer({ cert: certificate, key }));
}

function probe(host: string, name: string, servers: readonly ServerTarget[]): ChildProcess {
  const targets = servers.map((server) => JSON.stringify(server));
  const argv = ["-e", probeScript(host), "--", name, ...targets];
  // It ends by itself, too: a test that is killed must not leave it running.
  const child = spawn("timeout", ["900", process.execPath, ...argv], { stdio: "inherit" });
  closing.push(() => child.kill());
  return child;
}

async function attempts(pods: readonly PodTarget[]): Promise<readonly report.Attempt[]> {
  const url = `http://${HERE}:${PAGE_PORT}/?pods=${encodeURIComponent(JSON.stringify(pods))}`;
  for (;;) {
    const page = await fetch(url).catch(() => undefined);
    if (page !== undefined) return report.parseAttempts(await page.text()) ?? [];
    await sleep(50);
  }
}

let all: readonly report.Attempt[];
before(async () => {
  const expired = await apiServer("localhost", -1);
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
    { to: "nowhere", address: NOWHERE, name: "run/nowhere" },
  ]);
});

test("an API server is reached if its certificate is of the given CA, for its name, and valid; else it says what is wrong", () => {
  const servers = all.filter(({ kind }) => kind === "server");
  assert.deepEqual(Object.fromEntries(servers.map((one) => [one.to, report.faultOf(one)])), {
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
    pods.map((one) => [one.to, one.address, report.faultOf(one)]),
    [
      ["there", THERE, undefined],
      ["another", THERE, "other"],
      ["nowhere", NOWHERE, "refused"],
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
  const found = report.parseAttempts(readFileSync(file, "utf8")) ?? [];
  assert.deepEqual(
    found.map((one) => [one.to, one.kind, one.address, report.faultOf(one)]),
    [
      ["there", "node", THERE, undefined],
      ["another", "node", THERE, "other"],
    ],
  );
});
