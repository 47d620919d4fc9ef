import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { CodedError } from "./errors.ts";
import { HttpServer, matchPath, plainText, type Route } from "./http.ts";
import { createLogger } from "./log.ts";

async function serve(t: TestContext, ...routes: readonly Route[]) {
  const logged: string[] = [];
  const log = createLogger(
    { level: "debug", format: "pretty" },
    { write: (line) => logged.push(line) },
  );
  const server = new HttpServer({ host: "127.0.0.1", port: 0 }, routes, log);
  const port = await server.start();
  t.after(() => server.stop());
  return { server, log, url: `http://127.0.0.1:${port}`, port, logged };
}

const hello: Route = { path: "/hello", answer: () => plainText(200, "h\u001b[2J\u202e\u009b\n") };
const echo: Route = {
  path: "/plan/:namespace/:name",
  answer: ({ parts, query }) => plainText(200, `${parts.join("|")} ${query.get("output")}\n`),
};
const probe: Route = { path: "/livez", probe: true, answer: () => plainText(200, "ok\n") };

/** A page without end; `stopped`: when it is not rendered any more. */
function endless(path: string, stopped = () => {}): Route {
  const body = function* () {
    try {
      for (;;) yield "x".repeat(65_536);
    } finally {
      stopped();
    }
  };
  return { path, answer: () => ({ ...plainText(200, ""), body: body() }) };
}

/** Sends `text` as it is, and reads until the server closes. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = "";
    const socket = connect(port, "127.0.0.1", () => socket.end(text));
    socket.setEncoding("utf8").on("data", (part: string) => {
      heard += part;
    });
    socket.on("error", reject).on("close", () => resolve(heard));
  });
}

// First: a timer that was set before the mock would not be cleared, and keep the process for 30 s.
test("a response that is read all the time is cut off after 30 seconds", {
  timeout: 20_000,
}, async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { port } = await serve(t, endless("/plan"), probe);
  const socket = connect(port, "127.0.0.1").resume();
  t.after(() => socket.destroy());
  socket.write("GET /plan HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await once(socket, "data");
  t.mock.timers.tick(29_999);
  // More than buffers hold.
  const enough = socket.bytesRead + 64 * 1024 * 1024;
  while (socket.bytesRead < enough) await once(socket, "data");
  t.mock.timers.tick(1);
  await once(socket, "close");
});

for (const { name, method = "GET", path, status = 200, text = "", headers = {} } of [
  {
    name: "a page is served with its type and length, not to be cached, and controls no terminal",
    path: "/hello?verbose",
    text: "h\\u001b[2J\\u202e\\u009b\n",
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "content-length": "23",
      "cache-control": "no-store",
    },
  },
  {
    name: "HEAD has the headers of GET, and no body",
    method: "HEAD",
    path: "/hello",
    headers: { "content-length": "23" },
  },
  {
    name: "parameters of the path and the query reach the page unchanged",
    path: "/plan/demo/%2e%2E%zz?output=yaml&x=%zz",
    text: "demo|%2e%2E%zz yaml\n",
  },
  {
    name: "an unknown page is 404 and lists those that exist",
    path: "/nothing",
    status: 404,
    text: "Not found. Pages:\n/hello\n/plan/:namespace/:name\n",
  },
  ...["POST", "PUT", "DELETE", "OPTIONS"].map((method) => ({
    ...{ name: `${method} is 405: only GET and HEAD are allowed`, method, path: "/hello" },
    ...{
      status: 405,
      text: "Method not allowed: use GET or HEAD.\n",
      headers: { allow: "GET, HEAD" },
    },
  })),
]) {
  test(name, async (t) => {
    const { url } = await serve(t, hello, echo);
    const reply = await fetch(`${url}${path}`, { method });
    assert.deepEqual([reply.status, await reply.text()], [status, text]);
    for (const [key, value] of Object.entries(headers)) {
      assert.equal(reply.headers.get(key), value);
    }
  });
}

test("HEAD does not render a streamed page", async (t) => {
  let made = false;
  const parts = (function* (): Generator<string> {
    made = true;
    yield "part";
  })();
  const page: Route = { path: "/", answer: () => ({ ...plainText(200, ""), body: parts }) };
  const { url } = await serve(t, page);
  assert.equal((await fetch(url, { method: "HEAD" })).status, 200);
  assert.equal(made, false);
});

test("a page that throws is 500 and logged, without an effect on other pages", async (t) => {
  const broken: Route = {
    path: "/broken",
    answer: () => {
      throw new Error("secret detail");
    },
  };
  const { url, logged } = await serve(t, hello, broken);
  const reply = await fetch(`${url}/broken`);
  assert.deepEqual([reply.status, await reply.text()], [500, "Internal error; see the log.\n"]);
  assert.match(logged.join(""), /ERROR Serving a page failed.*secret detail/);
  assert.equal((await fetch(`${url}/hello`)).status, 200);
});

test("a streamed page arrives completely; one that throws during the response is aborted", async (t) => {
  const parts = (broken: boolean): Iterable<string> =>
    (function* () {
      for (let i = 0; i < 1000; i++) {
        if (broken && i === 500) throw new Error("half way");
        yield `${i} ${"x".repeat(100)}\n`;
      }
    })();
  const page = (path: string, broken: boolean): Route => ({
    path,
    answer: () => ({ ...plainText(200, ""), body: parts(broken) }),
  });
  const { url, logged } = await serve(t, page("/whole", false), page("/half", true));
  const text = await (await fetch(`${url}/whole`)).text();
  assert.equal(text.split("\n").length, 1001);
  await assert.rejects(async () => (await fetch(`${url}/half`)).text());
  assert.match(logged.join(""), /ERROR Serving a page failed.*half way/);
});

test("a client that disconnects during a response is not an error", async (t) => {
  const { promise: gone, resolve: stopped } = Promise.withResolvers<void>();
  const { port, logged } = await serve(t, endless("/endless", stopped));
  await new Promise<void>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("GET /endless HTTP/1.0\r\n\r\n"));
    socket.once("data", () => socket.destroy()).on("close", () => resolve());
  });
  await gone;
  await new Promise((resolve) => setImmediate(resolve));
  assert.doesNotMatch(logged.join(""), /ERROR/);
});

test("headers over the limit, and invalid HTTP, are rejected", async (t) => {
  const { port } = await serve(t, hello);
  const long = `GET /hello HTTP/1.1\r\nhost: a\r\nx: ${"x".repeat(16_384)}\r\n\r\n`;
  assert.match(await raw(port, long), /^HTTP\/1\.1 431 /);
  assert.match(await raw(port, "hello\r\n\r\n"), /^HTTP\/1\.1 400 /);
});

test("an address in use is an error with a code and a cause", async (t) => {
  const { port, log } = await serve(t, hello);
  const second = new HttpServer({ host: "127.0.0.1", port }, [], log);
  await assert.rejects(second.start(), (error) => {
    assert.ok(error instanceof CodedError && error.code === "CSP_HTTP_LISTEN");
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1, port ${port}`));
    return true;
  });
  await second.stop();
});

/** Opens connections that send `text` and read nothing. */
async function slowReaders(t: TestContext, port: number, count: number, text: string) {
  for (let i = 0; i < count; i++) {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.on("error", () => undefined);
    socket.pause();
    t.after(() => socket.destroy());
    await once(socket, "connect");
  }
}

for (const [what, text] of [
  ["read a page slowly", "GET /plan HTTP/1.1\r\nhost: localhost\r\n\r\n"],
  ["send nothing", ""],
  ["send half a request", "GET /plan HT"],
] as const) {
  test(`a probe is answered while 100 clients ${what}`, async (t) => {
    const { url, port } = await serve(t, endless("/plan"), probe);
    await slowReaders(t, port, 100, text);
    for (let i = 0; i < 5; i++) {
      const signal = AbortSignal.timeout(5_000);
      const reply = await fetch(`${url}/livez`, { signal, headers: { connection: "close" } });
      assert.equal(await reply.text(), "ok\n");
    }
  });
}

test("a client address gets four pages at the same time, and another one after the end of the first", async (t) => {
  const { url } = await serve(t, endless("/plan"), probe);
  const open = Array.from({ length: 4 }, () => new AbortController());
  for (const { signal } of open) assert.equal((await fetch(`${url}/plan`, { signal })).status, 200);
  const refused = await fetch(`${url}/plan`);
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "5"]);
  await refused.text();
  open[0]?.abort();
  for (let status = 429; status === 429; ) {
    const again = new AbortController();
    ({ status } = await fetch(`${url}/plan`, { signal: again.signal }));
    again.abort();
  }
});

test("all clients together get eight pages at the same time, and probes besides", async (t) => {
  const { url, port } = await serve(t, endless("/plan"), probe);
  const request = "GET /plan HTTP/1.1\r\nhost: localhost\r\n\r\n";
  /** The first line of an answer to a client with its own address; nothing more is read. */
  const answerTo = async (localAddress: string): Promise<string> => {
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    t.after(() => socket.destroy());
    socket.write(request);
    const [part] = (await once(socket, "data")) as [Buffer];
    socket.pause();
    return part.toString("latin1").slice(0, 12);
  };
  for (let i = 0; i < 8; i++) assert.equal(await answerTo(`127.0.0.${2 + i}`), "HTTP/1.1 200");
  assert.equal(await answerTo("127.0.0.20"), "HTTP/1.1 429");
  assert.equal((await fetch(`${url}/livez`)).status, 200);
});

test("a loopback server answers requests by IP address and as localhost only", async (t) => {
  const { port } = await serve(t, hello);
  const status = async (host: string) =>
    (await raw(port, `GET /hello HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)).slice(
      9,
      12,
    );
  for (const host of ["localhost", `localhost:${port}`, "127.0.0.1", `[::1]:${port}`]) {
    assert.equal(await status(host), "200", host);
  }
  for (const host of ["attacker.example", "127.0.0.1.attacker.example:80", "localhost.example"]) {
    assert.equal(await status(host), "421", host);
  }
});

// The limit is half of what an idle connection may last: without being cut, the reply would end by itself.
test("stop cuts off open responses, and frees the port", { timeout: 5000 }, async (t) => {
  const asked = Promise.withResolvers<void>();
  const answer = (): Promise<never> => {
    asked.resolve();
    return new Promise(() => {});
  };
  const { server, url } = await serve(t, { path: "/never", answer });
  const cut = assert.rejects(fetch(`${url}/never`));
  await asked.promise;
  await server.stop();
  await cut;
  await assert.rejects(fetch(`${url}/never`));
});

test("a path matches part by part, and an empty part is a part", () => {
  assert.deepEqual(matchPath("/plan", "/plan"), []);
  assert.deepEqual(matchPath("/plan/:a/:b", "/plan/x/y"), ["x", "y"]);
  assert.deepEqual(matchPath("/plan/:a/:b", "/plan//y"), ["", "y"]);
  for (const other of ["/plan/", "/plan/x", "/plan/x/y/z", "plan", "", "//plan"]) {
    assert.equal(matchPath("/plan", other), undefined, other);
  }
});
