import assert from "node:assert/strict";
import { test } from "node:test";
import { type Attempt, parseAttempt } from "../../test/connections/connections.ts";
import { Lab } from "../../test/lab/lab.ts";
import type { Namespace } from "../../test/lab/namespace.ts";
import { eventually } from "../../test/stages/agent-process.ts";
import { buildConnector, serveCommand } from "./build.ts";

const [A, B] = ["10.1.0.21", "10.1.0.22"] as const;

/** A pod that calls, a pod with two addresses, and the program. */
async function open() {
  const lab = await Lab.create({
    clusters: [{ id: "c1", nodes: [{ name: "n1", pods: { client: [], web: [A, B] } }] }],
  });
  const program = await buildConnector();
  return { lab, program, client: lab.pod("c1", "n1", "client"), web: lab.pod("c1", "n1", "web") };
}

async function serving(web: Namespace, program: string) {
  const server = web.spawn(serveCommand(program, [[A], [B]]));
  await server.line(/serving/);
  return server;
}

function attemptsIn(lines: readonly string[]): Attempt[] {
  return lines.flatMap((line) => parseAttempt(line) ?? []);
}

test("each connection is reported with the place of the address that was called, or with the error", async () => {
  const { lab, program, client, web } = await open();
  await using _ = lab;
  const called = async (address: string) => {
    const printed = await client.exec([program, "connect", address, "8080", "50", "1"]);
    const attempts = attemptsIn(printed.trim().split("\n"));
    assert.ok(attempts.length > 1, printed);
    for (const { begun, ended } of attempts) assert.ok(ended > begun, printed);
    return [...new Set(attempts.map(({ answer, error }) => answer ?? error))];
  };
  assert.deepEqual(await called(A), ["refused"]);
  await serving(web, program);
  assert.deepEqual(await called(A), ["0"]);
  assert.deepEqual(await called(B), ["1"]);
});

test("after SIGUSR1, connections do not wait for their turn", async () => {
  const { lab, program, client, web } = await open();
  await using _ = lab;
  await serving(web, program);
  const process = client.spawn([program, "connect", A, "8080", "1", "600"]);
  await process.line(/"name":"0"/);
  process.signal("SIGUSR1");
  await eventually(() => assert.ok(attemptsIn(process.lines).length > 12));
  const begun = attemptsIn(process.lines).map((attempt) => attempt.begun);
  assert.ok(begun.some((at, i) => i > 0 && at - (begun[i - 1] ?? 0) < 500));
});

test("a flood counts its connections and their errors", async () => {
  const { lab, program, client, web } = await open();
  await using _ = lab;
  const flood = async () => JSON.parse(await client.exec([program, "flood", A, "8080", "1"]));
  const refused = await flood();
  assert.ok(refused.made > 0);
  assert.deepEqual(refused.errors, { refused: refused.made });
  await serving(web, program);
  const answered = await flood();
  assert.ok(answered.made > 0);
  assert.deepEqual(answered.errors, {});
});
