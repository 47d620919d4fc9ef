import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { test } from "node:test";
import { type WebSocket, WebSocketServer } from "ws";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import { FakeApiServer, kubeconfigOf } from "../../test/doubles/fake-api-server.ts";
import { CommandLine } from "../../test/stages/command-line.ts";
import { proxiedPage } from "./cluster.ts";
import { environmentProxy } from "./contexts.ts";
import { forwardedPort, readPage } from "./port-forward.ts";

const SERVER = "https://api.c1.example.com:6443";

test("variables in upper and lower case, for each scheme, with or without a scheme of the proxy", () => {
  assert.equal(environmentProxy(SERVER, {}), undefined);
  assert.equal(environmentProxy(SERVER, { HTTPS_PROXY: "http://p:3128" }), "http://p:3128");
  assert.equal(environmentProxy(SERVER, { https_proxy: "p:3128" }), "http://p:3128");
  assert.equal(environmentProxy(SERVER, { HTTP_PROXY: "http://p:3128" }), undefined);
  assert.equal(environmentProxy("http://a:80", { HTTP_PROXY: "socks5://p:1" }), "socks5://p:1");
});

test("NO_PROXY: names and names below them, addresses, ranges, ports; this machine is never behind a proxy", () => {
  const isDirect = (server: string, NO_PROXY: string) =>
    environmentProxy(server, { HTTPS_PROXY: "http://p:3128", NO_PROXY }) === undefined;
  for (const [server, excluded] of [
    [SERVER, "*"],
    [SERVER, "other, example.com"],
    [SERVER, ".example.com"],
    [SERVER, "*.example.com"],
    [SERVER, "api.c1.example.com:6443"],
    ["https://10.1.2.3:6443", "10.0.0.0/8"],
    ["https://10.1.2.3", "10.1.2.3"],
    ["https://[fd00::1]:6443", "fd00::/8"],
    ["https://[fd00::1]:6443", "[fd00::1]:6443"],
    ["https://127.0.0.1:6443", ""],
    ["https://localhost:6443", ""],
    ["https://[::1]:6443", ""],
  ] as const)
    assert.ok(isDirect(server, excluded), `${server} ${excluded}`);
  for (const [server, excluded] of [
    [SERVER, "ample.com"],
    ["https://example.com", ".example.com"],
    [SERVER, "api.c1.example.com:443"],
    ["https://10.1.2.3:6443", "11.0.0.0/8,10.1.2.4"],
    ["https://[fd00::1]:6443", "fd00::2"],
  ] as const)
    assert.ok(!isDirect(server, excluded), `${server} ${excluded}`);
});

/** Where nothing listens. */
const GONE = "http://127.0.0.1:1";

const ANSWERS: Readonly<Record<string, readonly [status: number, body: string, shown: RegExp]>> = {
  empty: [500, "", /HTTP 500; check the API server/],
  page: [
    503,
    "<html>\n  <b>Sorry</b>\n</html>\n",
    /HTTP 503: <html> <b>Sorry<\/b> <\/html>; check/,
  ],
  elsewhere: [404, "404 page not found\n", /404 page not found; check the address/],
  moved: [302, "", /HTTP 302; check the address .* a login page/],
};

for (const [name, [status, body, shown]] of Object.entries(ANSWERS))
  test(`an answer of another server is named in one sentence, with what to do: ${name}`, async () => {
    await using server = await FakeApiServer.start({
      answerTo: () => (_, response) => void response.writeHead(status).end(body),
    });
    using operator = new CommandLine({ there: server.inline });
    const { code, note } = await operator.run("explain", "shop/web");
    assert.equal(code, 1);
    assert.match(note, shown);
    assert.match(note, /^error: there: http:\S+: [^\n\\]+\n$/);
  });

test("a kubeconfig that cannot work is named, with the part to check, and no password of it is printed", async () => {
  await using one = await FakeApiServer.start();
  using operator = new CommandLine({
    provider: kubeconfigOf(GONE, { "auth-provider": { name: "gcp" } }),
    plain: kubeconfigOf(one.url.replace("http:", "https:")),
    secret: kubeconfigOf(GONE.replace("http://", "https://ann:s3cret@")),
    url: kubeconfigOf("api.example:6443"),
  });
  const { note } = await operator.run("explain", "shop/web", "--all-contexts");
  assert.match(
    note,
    /^error: provider: .*auth-provider gcp .*: use exec; check the user and the cluster/m,
  );
  assert.match(note, /^error: plain: https:\S+: TLS: \S.*; check .*certificate/m);
  assert.match(note, /^error: secret: https:\/\/127\.0\.0\.1:\d+: connect ECONNREFUSED/m);
  assert.match(
    note,
    /^error: url: .*"api\.example:6443" is not an http or https URL; check .*cluster/m,
  );
  assert.doesNotMatch(note, /s3cret|ann|Cannot read/);
  operator.env = { KUBECONFIG: "/nowhere/config" };
  assert.match((await operator.run("status")).note, /^error: \/nowhere\/config: ENOENT/);
});

test("a SOCKS proxy resolves names, as for kubectl", async () => {
  const asked = new Set<string>();
  const proxy = createTcpServer((client) => {
    client.once("data", () => {
      client.write(Buffer.of(5, 0));
      // The name follows its length, after the kind of address, which is 3.
      client.once("data", (bytes) => {
        asked.add(bytes.subarray(5, 5 + (bytes[4] ?? 0)).toString());
        client.destroy();
      });
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as { port: number };
  using behind = new CommandLine({ far: kubeconfigOf("https://api.invalid:6443") });
  behind.env = { HTTPS_PROXY: `socks5://127.0.0.1:${port}` };
  const { code } = await behind.run("explain", "shop/web");
  proxy.close();
  assert.equal(code, 1);
  assert.deepEqual([...asked], ["api.invalid"]);
});

const POD = { namespace: "clusterset-proxy", pod: "agent-1", port: 10269 };

function serving(status: number, text: string): { api: ApiServer; paths: string[] } {
  const paths: string[] = [];
  const api: ApiServer = {
    address: "https://here",
    recovery: new Recovery(),
    request: async ({ path }) => {
      paths.push(path);
      const body = (async function* () {
        yield Buffer.from(text);
      })();
      return { status, header: () => undefined, body };
    },
    close: async () => undefined,
  };
  return { api, paths };
}

test("a page is what the program answers, also one with an error status", async () => {
  const { api, paths } = serving(503, "[-]sources failed: not-listed\n");
  const page = await proxiedPage(api, POD, "/readyz?verbose", new AbortController().signal);
  assert.deepEqual(page, { status: 503, text: "[-]sources failed: not-listed\n" });
  assert.deepEqual(paths, [
    "/api/v1/namespaces/clusterset-proxy/pods/agent-1:10269/proxy/readyz?verbose",
  ]);
});

test("an answer of the API server itself is a fault", async () => {
  const { api } = serving(403, '{"kind":"Status","message":"pods \\"agent-1\\" is forbidden"}');
  await assert.rejects(
    proxiedPage(api, POD, "/metrics", new AbortController().signal),
    (thrown) => thrown instanceof ApiFault && thrown.reason === "forbidden",
  );
});

const DATA = 0;
const ERROR = 1;

/** An API server that accepts connections to ports of pods; `serve`: the pod's side of one. */
class Kubelet implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets: Socket[] = [];
  readonly paths: string[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  /** `status`: rejects; `silent`: does not answer. */
  static async start(serve: (socket: WebSocket) => void, status?: string): Promise<Kubelet> {
    const server = createServer();
    const kubelet = new Kubelet(server);
    const sockets = new WebSocketServer({ noServer: true });
    server.on("connection", (socket) => kubelet.#sockets.push(socket));
    server.on("upgrade", (request, socket, head) => {
      kubelet.paths.push(`${request.headers["sec-websocket-protocol"]} ${request.url}`);
      if (status === "silent") return;
      if (status !== undefined) return void socket.end(`HTTP/1.1 ${status}\r\n\r\n`);
      sockets.handleUpgrade(request, socket, head, serve);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return kubelet;
  }

  get access() {
    const { port } = this.#server.address() as AddressInfo;
    return { server: `http://127.0.0.1:${port}`, proxy: undefined, headers: {}, tls: {} };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

const message = (channel: number, bytes: string | Buffer): Buffer =>
  Buffer.concat([Buffer.of(channel), Buffer.from(bytes)]);

/** The first message of both streams: the port. */
function begin(socket: WebSocket): void {
  for (const channel of [DATA, ERROR]) socket.send(message(channel, Buffer.of(0x1d, 0x28)));
}

/** Answers a request with `body`, in pieces of `size`. */
function answering(body: string, size = 3): (socket: WebSocket) => void {
  return (socket) => {
    begin(socket);
    let request = "";
    socket.on("message", (data: Buffer) => {
      request += data.subarray(1).toString();
      if (!request.endsWith("\r\n\r\n")) return;
      const answer = Buffer.from(
        `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      for (let at = 0; at < answer.length; at += size)
        socket.send(message(DATA, answer.subarray(at, at + size)));
    });
  };
}

const never = (): AbortSignal => new AbortController().signal;
/** A page of the pod's port. */
async function page(kubelet: Kubelet, path: string, signal = never()) {
  return readPage(await forwardedPort(kubelet.access, POD, signal), path, signal);
}

const isFault = (reason: string, text: RegExp) => (thrown: unknown) => {
  assert.ok(thrown instanceof ApiFault, String(thrown));
  assert.equal(thrown.reason, reason);
  assert.match(thrown.message, text);
  return true;
};

test("a page is read through a pod's port, in however many messages it arrives", async () => {
  for (const size of [1, 3, 1000]) {
    await using kubelet = await Kubelet.start(answering("hello world", size));
    assert.deepEqual(await page(kubelet, "/readyz"), { status: 200, text: "hello world" });
    assert.deepEqual(kubelet.paths, [
      "v4.channel.k8s.io /api/v1/namespaces/clusterset-proxy/pods/agent-1/portforward?ports=10269",
    ]);
  }
});

test("a long page arrives whole", async () => {
  const body = "x".repeat(3_000_000);
  await using kubelet = await Kubelet.start(answering(body, 32_768));
  assert.equal((await page(kubelet, "/metrics")).text, body);
});

test("what the kubelet reports of the port is the error", async () => {
  await using kubelet = await Kubelet.start((socket) => {
    begin(socket);
    socket.send(message(ERROR, "dial tcp4 127.0.0.1:10269: connect: connection refused\n"));
  });
  const expected = isFault("unreachable", /^dial tcp4 .* connection refused$/);
  await assert.rejects(page(kubelet, "/readyz"), expected);
});

test("a missing right and an unknown pod are errors that say so", async () => {
  for (const [status, fault] of [
    ["403 Forbidden", isFault("forbidden", /pods\/portforward: 403/)],
    ["404 Not Found", isFault("refused", /404/)],
  ] as const) {
    await using kubelet = await Kubelet.start(() => undefined, status);
    await assert.rejects(page(kubelet, "/readyz"), fault);
  }
});

test("a connection that ends in the middle of a page is an error", async () => {
  await using kubelet = await Kubelet.start((socket) => {
    begin(socket);
    socket.once("message", () => {
      socket.send(message(DATA, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"));
      socket.close();
    });
  });
  await assert.rejects(page(kubelet, "/readyz"), isFault("unreachable", /closed/));
});

test("a signal ends a page that never comes, and closes the connection", async () => {
  const closed = Promise.withResolvers<void>();
  await using kubelet = await Kubelet.start((socket) => {
    begin(socket);
    socket.on("close", () => closed.resolve());
  });
  const stop = new AbortController();
  const connection = await forwardedPort(kubelet.access, POD, stop.signal);
  const page = readPage(connection, "/readyz", stop.signal);
  stop.abort(new Error("stopped"));
  await assert.rejects(page, /stopped/);
  await closed.promise;
});

test("a signal ends a connection that is never accepted", async () => {
  await using kubelet = await Kubelet.start(() => undefined, "silent");
  const stop = new AbortController();
  const opening = forwardedPort(kubelet.access, POD, stop.signal);
  stop.abort(new Error("stopped"));
  await assert.rejects(opening, /stopped/);
});
