import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { callerPod } from "./caller.ts";
import { type Attempt, figuresTable, parseAttempt, severityOf } from "./figures.ts";

const CALLS = { namespace: "shop", image: "agent:1", address: "127.0.0.1", rate: 50, most: 60 };

/** Runs the caller's command on this machine; returns its first attempts. */
async function attempts(port: number, count: number): Promise<Attempt[]> {
  const [container] = callerPod("drill", { ...CALLS, port }).spec.containers;
  assert.ok(container);
  const [, ...argv] = container.command;
  const caller = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  const found: Attempt[] = [];
  for await (const line of createInterface({ input: caller.stdout })) {
    found.push(parseAttempt(line) ?? assert.fail(line));
    if (found.length === count) caller.kill();
  }
  return found.slice(0, count);
}

test("the caller's connections are established, or have the error that the kernel reports", async () => {
  const server = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const served = await attempts(port, 5);
  const errors = served.flatMap(({ error }) => error ?? []);
  assert.deepEqual(errors, []);
  assert.ok(served.every(({ ms }) => ms >= 0));
  server.close();
  await once(server, "close");
  const refused = await attempts(port, 3);
  assert.deepEqual(new Set(refused.map(({ error }) => error)), new Set(["ECONNREFUSED"]));
});

test("phases are rows, and a failed connection is a fault", () => {
  const phases = [
    { name: "as it is", answeredBy: "local c1 (2)", attempts: [{ at: 1, ms: 1.25 }] },
    {
      ...{ name: "scaled to nothing", answeredBy: "regional c2 (1)" },
      attempts: [
        { at: 2, ms: 30 },
        { at: 3, ms: 0.5, error: "ECONNREFUSED" },
      ],
    },
  ];
  assert.equal(
    String(figuresTable(phases)),
    `PHASE               ANSWERED BY       CONNECTIONS   SLOWEST   FAILED
as it is            local c1 (2)      1             1.3 ms    0
scaled to nothing   regional c2 (1)   2             30.0 ms   1 (ECONNREFUSED 1)
`,
  );
  assert.equal(severityOf(phases), "fault");
  assert.equal(severityOf(phases.slice(0, 1)), "well");
  for (const line of ["", "{}", "null", "Error: x", '{"at":"1","ms":2}'])
    assert.equal(parseAttempt(line), undefined);
});
