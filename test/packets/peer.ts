/**
 * A program for one place of a lab: responds with NAME on these ports, and makes the connections that are requested through a
 * socket at PATH. One process for all, because starting one costs more than a thousand connections.
 *
 *     peer.ts PATH NAME tcp:8080 udp:5353 ...
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import { ATTEMPTS, type Result } from "../../images/request/attempt.ts";
import type { Ask } from "./peers.ts";

const [path, name, ...ports] = process.argv.slice(2);

/** A socket that listens on `::` shows IPv4 addresses as ::ffff:a.b.c.d. */
function answerTo(address = ""): string {
  return `${name} ${address.replace(/^::ffff:/, "")}\n`;
}

async function answer(protocol: string, port: number): Promise<void> {
  if (protocol === "udp") {
    const socket = createSocket("udp6");
    socket.on("message", (_, { address, port: to }) => socket.send(answerTo(address), to, address));
    socket.bind(port, "::");
    await once(socket, "listening");
    return;
  }
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy()); // The client has closed the connection.
    socket.once("data", () => socket.end(answerTo(socket.remoteAddress)));
  });
  server.listen({ port, host: "::" });
  await once(server, "listening");
}

async function obey({ target, count, timeoutMs }: Ask): Promise<Result[]> {
  const url = new URL(target);
  const attempt = ATTEMPTS[url.protocol];
  if (attempt === undefined) throw new Error(`${target}: not a protocol of this program`);
  const results: Result[] = [];
  while (results.length < count) results.push(await attempt(url, timeoutMs));
  return results;
}

await Promise.all(
  ports.map((each) => {
    const [protocol = "", port] = each.split(":");
    return answer(protocol, Number(port));
  }),
);
const asks = createServer({ allowHalfOpen: true }, (connection) => {
  void text(connection)
    .then((asked) => obey(JSON.parse(asked) as Ask))
    .then(
      (results) => connection.end(JSON.stringify(results)),
      // The requester gets no result; the error is in the lab's log of this program.
      (error: unknown) => {
        console.error(error);
        connection.destroy();
      },
    );
});
asks.listen(path, () => console.log(`${name} serving ${ports.join(" ")}`));
