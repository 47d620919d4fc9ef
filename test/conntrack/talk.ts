/**
 * A client that talks all the time, from one port: asks `tcp` or `udp` HOST PORT fifty times a second, and prints each
 * answer's sender, once in a row, and what ended the conversation. UDP never ends; TCP is one connection.
 *
 *     talk.ts tcp|udp HOST PORT [FROM]
 */
import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { SLOWNESS } from "../lab/slowness.ts";

const [protocol, host = "", port = "", from = "0"] = process.argv.slice(2);
/** Milliseconds. More where asking and answering would take the processor from who programs the kernel. */
const EVERY = 20 * SLOWNESS;
let last = "";

function heard(name: string): void {
  if (name === last) return;
  last = name;
  console.log(name);
}

if (protocol === "udp") {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  socket.on("message", (answer) => heard(answer.toString().split(" ", 1)[0] ?? ""));
  // A port that is unreachable is an answer, too; the next datagram may find it open.
  socket.on("error", () => undefined);
  socket.bind(Number(from), () => {
    setInterval(() => socket.send("who\n", Number(port), host, () => undefined), EVERY);
    console.log("talking");
  });
} else {
  const socket = connect({ host, port: Number(port), localPort: Number(from) || undefined });
  const ask = `GET / HTTP/1.1\r\nHost: demo\r\n\r\n`;
  socket.on("connect", () => {
    heard("connected");
    setInterval(() => socket.write(ask), EVERY);
  });
  socket.on("data", (answer) => {
    const name = /"name":"([^"]+)"/.exec(answer.toString())?.[1];
    if (name !== undefined) heard(name);
  });
  socket.on("error", (error) => {
    console.log("code" in error ? String(error.code) : error.message);
    process.exit(0);
  });
  console.log("talking");
}
