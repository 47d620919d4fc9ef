import { createSocket } from "node:dgram";
import { get } from "node:http";
import { connect } from "node:net";

/** Errors of an attempt. */
export type Failure =
  | "refused"
  | "reset"
  | "timeout"
  | "unreachable"
  | "closed"
  | "status"
  | "garbled"
  | "no-port"
  | "failed";

/** The server's name, and the client address that it reports. */
export interface Answer {
  readonly name: string;
  readonly source: string;
}

/** The result of one attempt. */
export type Result = Answer | { readonly error: Failure };

const FAILURES: Readonly<Record<string, Failure>> = {
  ECONNREFUSED: "refused",
  // A REJECT in the sender's own OUTPUT chain fails the datagram's send.
  EPERM: "refused",
  ECONNRESET: "reset",
  EPIPE: "reset",
  ETIMEDOUT: "timeout",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable",
  EACCES: "unreachable",
  EADDRNOTAVAIL: "no-port",
};

/** The word for a system error. */
export function failureOf(error: Error & { code?: string }): Failure {
  return FAILURES[error.code ?? ""] ?? "failed";
}

/** Parses "NAME SOURCE", the answer over TCP and UDP. */
export function parseLine(text: string): Result {
  const match = /^(\S+) (\S+)\n$/.exec(text);
  if (match === null) return { error: text === "" ? "closed" : "garbled" };
  return { name: match[1] ?? "", source: match[2] ?? "" };
}

/** The address of a URL, without the brackets of IPv6. */
function hostOf(target: URL): string {
  return target.hostname.replace(/^\[|\]$/g, "");
}

/** A timer that is so late shows that this process did not run, as on a machine with too much work. */
const LATE_MS = 100;

/**
 * Calls `expire` after `ms` in which this process ran. An answer may have arrived while it did not: timers come before it, and it is no timeout. Returns what cancels it.
 */
export function limited(ms: number, expire: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const wait = (rest: number) => {
    const due = performance.now() + rest;
    timer = setTimeout(() => {
      const late = performance.now() - due;
      if (late > LATE_MS) wait(Math.min(late, ms));
      else expire();
    }, rest);
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/** Makes one new connection and requests one answer. Never throws. */
export type Attempt = (target: URL, timeoutMs: number) => Promise<Result>;

const tcp: Attempt = (target, timeoutMs) => {
  const done = Promise.withResolvers<Result>();
  const socket = connect({ host: hostOf(target), port: Number(target.port || 80) });
  let text = "";
  const cancel = limited(timeoutMs, () => {
    done.resolve({ error: "timeout" });
    socket.destroy();
  });
  socket.setEncoding("latin1");
  socket.once("connect", () => socket.write("who\n"));
  socket.on("data", (part: string) => {
    text += part;
  });
  socket.once("error", (error) => done.resolve({ error: failureOf(error) }));
  socket.once("close", () => {
    cancel();
    done.resolve(parseLine(text));
  });
  return done.promise;
};

const http: Attempt = (target, timeoutMs) => {
  const done = Promise.withResolvers<Result>();
  const request = get(target, { agent: false }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    response.once("end", () =>
      done.resolve(response.statusCode === 200 ? parseJson(text) : { error: "status" }),
    );
  });
  const cancel = limited(timeoutMs, () => {
    done.resolve({ error: "timeout" });
    request.destroy();
  });
  request.once("error", (error) => done.resolve({ error: failureOf(error) }));
  request.once("close", () => {
    cancel();
    done.resolve({ error: "closed" });
  });
  return done.promise;
};

function parseJson(text: string): Result {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return { error: "garbled" };
  }
  if (typeof said !== "object" || said === null || !("name" in said)) return { error: "garbled" };
  return { name: String(said.name), source: "source" in said ? String(said.source) : "" };
}

const udp: Attempt = (target, timeoutMs) => {
  const done = Promise.withResolvers<Result>();
  const host = hostOf(target);
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  const cancel = limited(timeoutMs, () => end({ error: "timeout" }));
  let ended = false;
  const end = (result: Result) => {
    if (ended) return;
    ended = true;
    cancel();
    socket.close();
    done.resolve(result);
  };
  socket.on("error", (error) => end({ error: failureOf(error) }));
  socket.once("message", (text: Buffer) => end(parseLine(text.toString("latin1"))));
  // Connected, because the kernel reports ICMP errors only then.
  socket.connect(Number(target.port || 53), host, () => {
    socket.send("who\n", (error) => {
      if (error !== null) end({ error: failureOf(error) });
    });
  });
  return done.promise;
};

/** By protocol, as in `URL.protocol`. */
export const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  "tcp:": tcp,
  "http:": http,
  "udp:": udp,
};
