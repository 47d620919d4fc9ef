import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { CodedError } from "./errors.ts";
import { HttpServer, matchPath, plainText, type Route } from "./http.ts";
import { createLogger } from "./log.ts";

interface Served {
  readonly url: string;
  readonly port: number;
  readonly logged: string[];
}

async function serve(t: TestContext, ...routes: readonly Route[]): Promise<Served> {
  const logged: string[] = [];
  const log = createLogger(
    { level: "debug", format: "pretty" },
    { write: (line) => logged.push(line) },
  );
  const server = new HttpServer({ host: "127.0.0.1", port: 0 }, routes, log);
  const port = await server.start();
  t.after(() => server.stop());
  return { url: `http://127.0.0.1:${port}`, port, logged };
}

const hello: Route = { path: "/hello", answer: () => plainText(200, "hällo\n") };
const echo: Route = {
  path: "/plan/:namespace/:name",
  answer: ({ parts, query }) => plainText(200, `${parts.join("|")} ${query.get("output")}\n`),
};

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

test("a page is served with its type and length, not to be cached", async (t) => {
  const { url } = await serve(t, hello);
  const reply = await fetch(`${url}/hello?verbose`);
  assert.equal(await reply.text(), "hällo\n");
  assert.equal(reply.headers.get("content-type"), "text/plain; charset=utf-8");
  assert.equal(reply.headers.get("content-length"), "7");
  assert.equal(reply.headers.get("cache-control"), "no-store");
});

test("HEAD has the headers of GET, and no body", async (t) => {
  const { url } = await serve(t, hello);
  const reply = await fetch(`${url}/hello`, { method: "HEAD" });
  assert.equal(reply.status, 200);
  assert.equal(reply.headers.get("content-length"), "7");
  assert.equal(await reply.text(), "");
});

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

test("parameters of the path and the query reach the page unchanged", async (t) => {
  const { url } = await serve(t, hello, echo);
  const reply = await fetch(`${url}/plan/demo/%2e%2E%zz?output=yaml&x=%zz`);
  assert.equal(await reply.text(), "demo|%2e%2E%zz yaml\n");
});

test("an unknown page is 404 and lists those that exist", async (t) => {
  const { url } = await serve(t, hello, echo);
  const reply = await fetch(`${url}/nothing`);
  assert.equal(reply.status, 404);
  assert.equal(await reply.text(), "Not found. Pages:\n/hello\n/plan/:namespace/:name\n");
});

test("methods other than GET and HEAD are 405", async (t) => {
  const { url } = await serve(t, hello);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const reply = await fetch(`${url}/hello`, { method });
    assert.deepEqual([reply.status, reply.headers.get("allow")], [405, "GET, HEAD"]);
    await reply.text();
  }
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
  const endless: Route = {
    path: "/endless",
    answer: () => ({
      ...plainText(200, ""),
      body: (function* () {
        try {
          for (;;) yield "x".repeat(65_536);
        } finally {
          stopped();
        }
      })(),
    }),
  };
  const { port, logged } = await serve(t, endless);
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
  const { port } = await serve(t, hello);
  const log = createLogger({ level: "error", format: "json" }, { write: () => {} });
  const second = new HttpServer({ host: "127.0.0.1", port }, [], log);
  await assert.rejects(second.start(), (error) => {
    assert.ok(error instanceof CodedError && error.code === "CSP_HTTP_LISTEN");
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1, port ${port}`));
    return true;
  });
  await second.stop();
});

const probe: Route = { path: "/livez", probe: true, answer: () => plainText(200, "ok\n") };
const endless: Route = {
  path: "/plan",
  answer: () => ({
    ...plainText(200, ""),
    body: (function* () {
      for (;;) yield "x".repeat(65_536);
    })(),
  }),
};

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
    const { url, port } = await serve(t, endless, probe);
    await slowReaders(t, port, 100, text);
    for (let i = 0; i < 5; i++) {
      const signal = AbortSignal.timeout(5_000);
      const reply = await fetch(`${url}/livez`, { signal, headers: { connection: "close" } });
      assert.equal(await reply.text(), "ok\n");
    }
  });
}

test("a client address gets four pages at the same time, and another one after the end of the first", async (t) => {
  const { url } = await serve(t, endless, probe);
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
test("stop cuts off open responses, and frees the port", { timeout: 5000 }, async () => {
  const log = createLogger({ level: "error", format: "json" }, { write: () => {} });
  const asked = Promise.withResolvers<void>();
  const never: Route = {
    path: "/never",
    answer: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  };
  const server = new HttpServer({ host: "127.0.0.1", port: 0 }, [never], log);
  const port = await server.start();
  const cut = assert.rejects(fetch(`http://127.0.0.1:${port}/never`));
  await asked.promise;
  await server.stop();
  await cut;
  await assert.rejects(fetch(`http://127.0.0.1:${port}/never`));
});

test("a path matches part by part, and an empty part is a part", () => {
  assert.deepEqual(matchPath("/plan", "/plan"), []);
  assert.deepEqual(matchPath("/plan/:a/:b", "/plan/x/y"), ["x", "y"]);
  assert.deepEqual(matchPath("/plan/:a/:b", "/plan//y"), ["", "y"]);
  for (const other of ["/plan/", "/plan/x", "/plan/x/y/z", "plan", "", "//plan"]) {
    assert.equal(matchPath("/plan", other), undefined, other);
  }
});
