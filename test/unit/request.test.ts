import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { ATTEMPTS } from "../../images/request/attempt.ts";

/** Long enough for a machine that does other work, too. */
const LIMIT_MS = 600;

/** A connection to a server that answers, or that does not; this process does not run for `stall` milliseconds once it has begun. */
async function attempt(answers: boolean, stall: number) {
  const server = createServer((socket) => {
    socket.once("data", () => (answers ? socket.end("web 10.1.0.7\n") : undefined));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const result = ATTEMPTS["tcp:"]?.(new URL(`tcp://127.0.0.1:${port}`), LIMIT_MS);
  for (const until = performance.now() + stall; performance.now() < until; );
  const answer = await result;
  server.close();
  return answer;
}

test("a connection is not lost because the machine gave its client no time to read the answer", async () => {
  assert.deepEqual(await attempt(true, 2 * LIMIT_MS), { name: "web", source: "10.1.0.7" });
  assert.deepEqual(await attempt(false, 2 * LIMIT_MS), { error: "timeout" });
  assert.deepEqual(await attempt(false, 0), { error: "timeout" });
});
