/**
 * A client that sends requests continuously, from one port: fifty a second by `tcp` or `udp` to HOST PORT. Prints the sender of each
 * response that differs from the one before, and the error that ended the connection. UDP never ends; TCP is one connection.
 *
 *     client.ts tcp|udp HOST PORT [FROM]
 */
import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { SLOWNESS } from "../lab/slowness.ts";

const [protocol, host = "", port = "", from = "0"] = process.argv.slice(2);
/** Milliseconds. A slow machine needs its processors for the agent. */
const EVERY = 20 * SLOWNESS;
let last = "";

function received(name: string): void {
  if (name === last) return;
  last = name;
  console.log(name);
}

if (protocol === "udp") {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  socket.on("message", (answer) => received(answer.toString().split(" ", 1)[0] ?? ""));
  // Port unreachable is ignored: the port may be open for the next datagram.
  socket.on("error", () => undefined);
  socket.bind(Number(from), () => {
    setInterval(() => socket.send("who\n", Number(port), host, () => undefined), EVERY);
    console.log("started");
  });
} else {
  const socket = connect({ host, port: Number(port), localPort: Number(from) || undefined });
  const request = `GET / HTTP/1.1\r\nHost: demo\r\n\r\n`;
  socket.on("connect", () => {
    received("connected");
    setInterval(() => socket.write(request), EVERY);
  });
  socket.on("data", (answer) => {
    const name = /"name":"([^"]+)"/.exec(answer.toString())?.[1];
    if (name !== undefined) received(name);
  });
  socket.on("error", (error) => {
    console.log("code" in error ? String(error.code) : error.message);
    process.exit(0);
  });
  console.log("started");
}
