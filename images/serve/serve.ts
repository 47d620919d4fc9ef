/**
 * serve: answers with its name and the client's address, over HTTP, TCP and UDP, IPv4 and IPv6. Needs only Node.js.
 */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { type Options, optionsOf } from "./options.ts";

/** An answer: the server's name, and the client's address. */
interface Answer {
  readonly name: string;
  readonly source: string;
  readonly address: string;
  readonly family: "IPv4" | "IPv6";
}

/** A socket that listens on `::` shows IPv4 addresses as ::ffff:a.b.c.d. */
function plain(address = ""): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

function answerTo(socket: Socket, options: Options): Answer {
  const address = plain(socket.localAddress);
  return {
    name: options.names.get(address) ?? options.name,
    source: plain(socket.remoteAddress),
    address,
    family: address.includes(":") ? "IPv6" : "IPv4",
  };
}

function respond(request: IncomingMessage, response: ServerResponse, options: Options): void {
  const url = new URL(request.url ?? "/", "http://serve");
  const ms = Math.min(Number(url.searchParams.get("ms") ?? Number.NaN), 600_000);
  const answer = answerTo(request.socket, options);
  const send = (status: number, body: string) => {
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  };
  switch (url.pathname) {
    case "/":
      send(200, `${JSON.stringify(answer)}\n`);
      return;
    case "/healthz":
      send(200, '"ok"\n');
      return;
    case "/slow": {
      const timer = setTimeout(send, ms >= 0 ? ms : 1_000, 200, `${JSON.stringify(answer)}\n`);
      response.once("close", () => clearTimeout(timer));
      return;
    }
    case "/stream":
      stream(response, answer, ms >= 1 ? ms : 100);
      return;
    default:
      send(404, '"no such path; see serve --help"\n');
  }
}

function stream(response: ServerResponse, answer: Answer, ms: number): void {
  let line = 0;
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  const write = () => {
    line++;
    response.write(`${JSON.stringify({ line, ...answer })}\n`);
  };
  write();
  const timer = setInterval(write, ms);
  response.once("close", () => clearInterval(timer));
}

/** Starts TCP and returns a function that stops it. */
async function serveTcp(options: Options): Promise<() => void> {
  const http = createServer((request, response) => respond(request, response, options));
  http.on("clientError", (_error, socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const sockets = new Set<Socket>();
  const server = createTcpServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy()); // The client has gone; nobody is left to be told.
    socket.once("data", (first: Buffer) => {
      if (first.toString("latin1", 0, 4) === "who\n") {
        // The server closes first, so that TIME_WAIT holds no port of the client, which may open thousands of
        // connections a second.
        const { name, source } = answerTo(socket, options);
        socket.end(`${name} ${source}\n`);
      } else {
        socket.pause();
        socket.unshift(first);
        http.emit("connection", socket);
        socket.resume();
      }
    });
  });
  server.listen({ port: options.tcp, host: "::", backlog: 4096 });
  await once(server, "listening");
  return () => {
    server.close();
    http.close();
    http.closeIdleConnections();
    setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, options.graceMs).unref();
  };
}

/** Starts UDP and returns a function that stops it. */
async function serveUdp(options: Options): Promise<() => void> {
  // A reply must come from the address that was called, so each address with a name has a socket.
  const binds = options.names.size > 0 ? [...options.names.keys()] : ["::"];
  const sockets = binds.map((address): UdpSocket => {
    const socket = createSocket({ type: address.includes(":") ? "udp6" : "udp4", reuseAddr: true });
    const name = options.names.get(address) ?? options.name;
    socket.on("message", (_asked: Buffer, from: RemoteInfo) => {
      socket.send(`${name} ${plain(from.address)}\n`, from.port, from.address);
    });
    socket.bind(options.udp, address);
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, "listening")));
  return () => {
    for (const socket of sockets) socket.close();
  };
}

const options = optionsOf(process.argv.slice(2));
const stops = await Promise.all([
  ...(options.tcp === 0 ? [] : [serveTcp(options)]),
  ...(options.udp === 0 ? [] : [serveUdp(options)]),
]);
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    for (const stop of stops) stop();
  });
}
console.log(JSON.stringify({ serving: options.name, tcp: options.tcp, udp: options.udp }));
