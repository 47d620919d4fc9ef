import { connect, type Socket } from "node:net";

/** How a connect ended: with a connection, a refusal, nothing, or a fault of this node, which says nothing about the other one. */
export type TcpAnswer = "accepted" | "refused" | "silent" | "unknown";

/** Milliseconds after which further connects begin: each sends one SYN, so that a lost one does not matter. */
const STARTS = [250, 500];
/** Milliseconds until it ends: TCP would repeat a SYN after a second (RFC 6298, 2.1). Longer than a round trip by satellite, of 600. */
const TIMEOUT = 900;
/** Milliseconds by which the timer may be late; otherwise load on the node has delayed it, and perhaps the answer, too. */
const LATE = 100;
/** Milliseconds that an answer gets more to arrive then. */
const GRACE = 250;
/** Errors by which the other end answers. */
const REFUSALS = new Set(["ECONNREFUSED", "ECONNRESET"]);
/** Errors of the path, which routers report: nothing answers, and nothing will. */
const SILENT = new Set(["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "EHOSTDOWN", "ENETDOWN"]);

/** Opens a TCP connection and closes it at once. Never rejects; ends within a second, or once `stop` is aborted. */
export function tcpConnect(
  { address, port }: { readonly address: string; readonly port: number },
  stop?: AbortSignal,
): Promise<TcpAnswer> {
  const { promise, resolve } = Promise.withResolvers<TcpAnswer>();
  const sockets: Socket[] = [];
  let failed = 0;
  const open = () => {
    const socket = connect({ host: address, port });
    sockets.push(socket);
    socket.on("connect", () => resolve("accepted"));
    socket.on("error", ({ code = "" }: NodeJS.ErrnoException) => {
      if (REFUSALS.has(code)) resolve("refused");
      else if (!SILENT.has(code)) resolve("unknown");
      else if (++failed > STARTS.length) resolve("silent");
    });
  };
  const begun = performance.now();
  // At once: a timer may be late.
  open();
  const timers = STARTS.map((ms) => setTimeout(open, ms));
  // Timers run before the answers that have arrived: these are read before the immediate runs.
  const end = () => setImmediate(() => resolve("silent"));
  const timeout = () => {
    const isLate = performance.now() - begun > TIMEOUT + LATE;
    if (isLate) timers.push(setTimeout(end, GRACE));
    else end();
  };
  timers.push(setTimeout(timeout, TIMEOUT));
  const stopped = () => resolve("unknown");
  stop?.addEventListener("abort", stopped, { once: true });
  if (stop?.aborted) stopped();
  return promise.finally(() => {
    for (const timer of timers) clearTimeout(timer);
    for (const socket of sockets) socket.destroy();
    stop?.removeEventListener("abort", stopped);
  });
}

/**
 * Sends one SYN to port 0 of the address and prints `connected`, `silence` or an errno such as ECONNREFUSED. It ends within
 * a second, after which TCP would repeat the SYN.
 */
const SCRIPT = `
  const socket = require("node:net").connect({ host: process.argv[1], port: 0 });
  const end = (word) => {
    console.log(word);
    socket.destroy();
  };
  socket.setTimeout(800, () => end("silence"));
  socket.on("connect", () => end("connected"));
  socket.on("error", ({ code }) => end(code));
`;

/** Runs the probe in our own Node.js, so that no other program is needed: 40 ms of CPU time and 45 MB of memory. */
export function probeCommand(address: string): string[] {
  return [process.execPath, "-e", SCRIPT, address];
}
