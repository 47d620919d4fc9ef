import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, Socket } from "node:net";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { type Answer, FakeApiServer } from "../../test/doubles/fake-api-server.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { logLines } from "../../test/doubles/log-lines.ts";
import { systemClock } from "../clock.ts";
import type { ApiResponse } from "./api-server.ts";
import { Credentials } from "./credentials.ts";
import { HttpApiServer } from "./http-api-server.ts";

/** A client of a fake API server, on a clock that stands still. */
async function stage() {
  const fake = await FakeApiServer.start();
  const clock = new FakeClock();
  const credentials = await Credentials.load({ kubeconfig: fake.kubeconfig, ...logLines(), clock });
  const api = new HttpApiServer(credentials, "test/1", clock);
  const stop = new AbortController();
  const ask = (compress = false): Promise<ApiResponse> =>
    api.request({ path: "/x?y=z", signal: stop.signal, silence: 150_000, compress });
  const answering = async (answer: Answer): Promise<string> => {
    fake.answers.push(answer);
    return textOf(await ask(true));
  };
  const dispose = async (): Promise<void> => {
    stop.abort();
    await api.close();
    await fake[Symbol.asyncDispose]();
    assert.equal(clock.pending, 0);
  };
  return { fake, clock, api, ask, answering, stop, [Symbol.asyncDispose]: dispose };
}

async function textOf({ body }: ApiResponse): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}

test("a response is returned unchanged: status, headers and body", async () => {
  await using it = await stage();
  it.fake.answers.push((_, response) => {
    response.writeHead(429, { "Retry-After": "3" }).end("later");
  });
  const response = await it.ask();
  assert.equal(response.status, 429);
  assert.equal(response.header("retry-after"), "3");
  assert.equal(await textOf(response), "later");
  const [request] = it.fake.requests;
  assert.equal(request?.url, "/x?y=z");
  assert.equal(request?.headers["user-agent"], "test/1");
  assert.equal(request?.headers["accept-encoding"], "identity");
});

test("the kernel asks a silent server every few seconds whether the connection still exists, so that a half-open watch ends", async (t) => {
  await using it = await stage();
  const keepAlive = t.mock.method(Socket.prototype, "setKeepAlive");
  await it.answering((_, response) => response.end("{}"));
  // Linux' further questions are TCP_KEEPCNT and TCP_KEEPINTVL, which Node sets to 10 and 1 s (docs/design/0004).
  assert.ok(keepAlive.mock.calls.some(({ arguments: [on, ms] }) => on === true && ms === 30_000));
});

test("a compressed body is decompressed as it arrives", async () => {
  await using it = await stage();
  const text = "slice ".repeat(50_000);
  const whole = await it.answering((request, response) => {
    assert.equal(request.headers["accept-encoding"], "gzip");
    response.writeHead(200, { "Content-Encoding": "gzip" }).end(gzipSync(text));
  });
  assert.equal(whole, text);
});

test("a truncated body, compressed or not, is an error", async () => {
  await using it = await stage();
  const zipped = gzipSync("slice ".repeat(1000));
  const cases: Answer[] = [
    (_, response) => response.writeHead(200).write("half", () => response.destroy()),
    (_, response) =>
      response.writeHead(200, { "Content-Length": 9 }).write("half", () => response.destroy()),
    (_, response) =>
      response.writeHead(200, { "Content-Encoding": "gzip" }).end(zipped.subarray(0, 30)),
    (_, response) =>
      response
        .writeHead(200, { "Content-Encoding": "gzip" })
        .write(zipped.subarray(0, 30), () => response.destroy()),
  ];
  for (const answer of cases) {
    await assert.rejects(it.answering(answer), { reason: "unreachable" });
  }
  const [half = assert.fail()] = cases;
  await assert.rejects(it.answering(half), { message: "Connection closed during a response" });
});

test("invalid HTTP or compression is garbage", async () => {
  await using it = await stage();
  const cases: Answer[] = [
    (request) => request.socket.end("SSH-2.0-OpenSSH_9.2\r\n"),
    (_, response) => response.writeHead(200, { "Content-Encoding": "gzip" }).end("plain"),
    (_, response) => response.writeHead(200, { "Content-Encoding": "br" }).end("?"),
  ];
  for (const answer of cases) {
    await assert.rejects(it.answering(answer), { reason: "garbage" });
  }
});

test("a server that accepts but does not respond is stalled after 30 seconds, a body without data after 150", async () => {
  await using it = await stage();
  it.fake.answers.push(() => {});
  const silent = assert.rejects(it.ask(), { reason: "stalled", code: "CSP_API_REQUEST" });
  await it.fake.nextRequest();
  it.clock.advance(30_000);
  await silent;
  it.fake.answers.push((_, response) => response.writeHead(200).write("first"));
  const { body } = await it.ask();
  const parts = body[Symbol.asyncIterator]();
  assert.equal(String(Buffer.from((await parts.next()).value ?? [])), "first");
  const next = assert.rejects(parts.next(), { reason: "stalled" });
  it.clock.advance(149_999);
  assert.equal(it.clock.pending, 1);
  it.clock.advance(1);
  await next;
});

/** Listens, takes two connections in its queue and none after: it stands still, and the kernel drops what comes. */
async function fullListener() {
  const program = `require("net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, function () {
    console.log(this.address().port);
  })`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(child.stdout, "data");
  const port = Number(String(line));
  child.kill("SIGSTOP");
  const queued = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  await Promise.all(queued.map((socket) => once(socket, "connect")));
  const dispose = async (): Promise<void> => {
    for (const socket of queued) socket.destroy();
    child.kill("SIGKILL");
    await once(child, "close");
  };
  return { port, [Symbol.asyncDispose]: dispose };
}

test("with a timeout of requests, an answer that never ends is stalled, although data arrive", async () => {
  await using fake = await FakeApiServer.start();
  const kubeconfig = { kubeconfig: fake.kubeconfig, ...logLines(), clock: new FakeClock() };
  const credentials = await Credentials.load(kubeconfig);
  await using closing = new AsyncDisposableStack();
  const api = new HttpApiServer(credentials, "test/1", systemClock, 1000);
  closing.defer(() => api.close());
  fake.answers.push((_, response) => {
    const drops = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(drops));
  });
  const { signal } = new AbortController();
  await assert.rejects(api.request({ path: "/x", signal, silence: 150_000 }).then(textOf), {
    reason: "stalled",
    message: "No end within 1 second",
  });
});

test("connecting times out after 10 seconds", async () => {
  await using it = await stage();
  await using full = await fullListener();
  const config = readFileSync(it.fake.kubeconfig, "utf8");
  writeFileSync(it.fake.kubeconfig, config.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${full.port}`));
  const late = assert.rejects(it.ask(), { reason: "unreachable", message: /Connect timed out/ });
  while (it.clock.next !== 10_000) await setImmediate();
  it.clock.advance(9_999);
  await setImmediate();
  assert.equal(it.clock.next, 1);
  it.clock.advance(1);
  await late;
});

test("a refused connection is unreachable, and so is one that ends before a response", async () => {
  const it = await stage();
  await assert.rejects(
    it.answering((request) => request.socket.destroy()),
    { reason: "unreachable" },
  );
  await it.fake[Symbol.asyncDispose]();
  await assert.rejects(it.ask(), { reason: "unreachable", message: /ECONNREFUSED/ });
  await it.api.close();
});

test("a kept-alive connection that the server has closed meanwhile is not a fault", async () => {
  await using it = await stage();
  assert.equal(await it.answering((_, response) => response.end("one")), "one");
  // The kept connection ends as the second request arrives on it.
  it.fake.answers.push((request) => request.socket.destroy());
  assert.equal(await it.answering((_, response) => response.end("two")), "two");
  assert.equal(it.fake.requests.length, 3);
});

test("the signal ends a request and its connection, before and during the response", async () => {
  await using it = await stage();
  it.fake.answers.push((_, response) => response.writeHead(200).write("x"));
  const { body } = await it.ask();
  it.fake.answers.push(() => {});
  const second = assert.rejects(it.ask(), { name: "AbortError" });
  await it.fake.nextRequest();
  const ended = it.fake.requests.map(({ socket }) => once(socket, "close"));
  it.stop.abort();
  await second;
  await assert.rejects(async () => {
    for await (const part of body) assert.equal(String(Buffer.from(part)), "x");
  });
  await Promise.all(ended);
});

test("after a 401, the plugin runs again", async () => {
  await using it = await stage();
  const runs = it.fake.file("runs");
  const script = `echo >> ${runs}; echo '{"status":{"token":"run-'$(wc -l < ${runs})'"}}'`;
  const apiVersion = "client.authentication.k8s.io/v1";
  it.fake.writeKubeconfig({ exec: { apiVersion, command: "sh", args: ["-c", script] } });
  await it.answering((_, response) => response.writeHead(401).end());
  await it.answering((_, response) => response.end());
  const tokens = it.fake.requests.map(({ headers }) => headers.authorization);
  assert.deepEqual(tokens, ["Bearer run-1", "Bearer run-2"]);
});
