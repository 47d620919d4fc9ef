import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { tcpConnect } from "./tcp-connect.ts";

test("an answer that arrived while the process was busy counts, although the time was up before it was read", async () => {
  await using server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const answer = tcpConnect({ address: "127.0.0.1", port: address.port });
  const until = performance.now() + 1_500;
  while (performance.now() < until);
  assert.equal(await answer, "accepted");
});

test("a refusal is an answer", async () => {
  assert.equal(await tcpConnect({ address: "127.0.0.1", port: 1 }), "refused");
});
