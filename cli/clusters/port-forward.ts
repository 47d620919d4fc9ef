import { request } from "node:http";
import { Duplex } from "node:stream";
import WebSocket from "ws";
import { ApiFault, faultOfTransport } from "../../common/kubernetes/api-fault.ts";
import type { Access } from "../../common/kubernetes/credentials.ts";

/** A port of a pod, as the pod's own loopback address has it. */
export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** Of the protocol below: the stream of data, and the one of errors. */
const DATA = 0;
const ERROR = 1;
/** The first message of each stream only repeats the port, as two bytes. */
const PORT_BYTES = 2;
/** The kubelet's protocol for WebSockets: the first byte of a message is its stream. API servers from 1.21 to 1.36 pass it on. */
const PROTOCOL = "v4.channel.k8s.io";
/** Milliseconds for the API server and the kubelet to open the connection. */
const OPEN_MS = 10_000;
/** Bytes of the longest message: kubelets send 32 KiB at most. */
const LONGEST_MESSAGE = 1024 * 1024;

/**
 * A connection to a port of a pod by way of the API server, as `kubectl port-forward` makes one; needs no route to the pod. It ends
 * with `signal`. Rejects with an ApiFault, or the reason of the signal.
 */
export async function forwardedPort(
  access: Access,
  target: PodPort,
  signal: AbortSignal,
): Promise<Duplex> {
  signal.throwIfAborted();
  const { server, headers, tls, proxy } = access;
  const pods = `/api/v1/namespaces/${encodeURIComponent(target.namespace)}/pods`;
  const url = `${server.replace(/^http/, "ws")}${pods}/${encodeURIComponent(target.pod)}/portforward?ports=${target.port}`;
  const socket = new WebSocket(url, [PROTOCOL], {
    ...tls,
    headers,
    handshakeTimeout: OPEN_MS,
    perMessageDeflate: false,
    maxPayload: LONGEST_MESSAGE,
    ...(proxy !== undefined && { agent: proxy }),
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once("open", resolve);
  socket.once("error", (error) => reject(faultOfTransport(error)));
  socket.once("unexpected-response", (_request, { statusCode = 0, statusMessage = "" }) => {
    const reason = statusCode === 403 ? "forbidden" : "refused";
    reject(new ApiFault(reason, `pods/portforward: ${statusCode} ${statusMessage}`));
    socket.terminate();
  });
  const stream = duplexOf(socket);
  const stop = (): void => {
    reject(signal.reason);
    stream.destroy();
  };
  signal.addEventListener("abort", stop, { once: true });
  stream.once("close", () => signal.removeEventListener("abort", stop));
  try {
    await promise;
    return stream;
  } catch (thrown) {
    stream.destroy();
    throw thrown;
  }
}

function duplexOf(socket: WebSocket): Duplex {
  const begun = new Set<number>();
  const stream = new Duplex({
    read: () => socket.resume(),
    write: (chunk: Buffer, _encoding, done) =>
      socket.send(Buffer.concat([Buffer.of(DATA), chunk]), done),
    final: (done) => {
      // The protocol cannot close one direction; HTTP needs no more than to stop sending.
      done();
    },
    destroy: (error, done) => {
      // Without the closing handshake, for which the process would wait.
      socket.terminate();
      done(error);
    },
  });
  socket.on("message", (message: Buffer) => {
    const channel = message[0] ?? ERROR;
    const bytes = message.subarray(1 + (begun.has(channel) ? 0 : PORT_BYTES));
    begun.add(channel);
    if (bytes.length === 0) return;
    if (channel !== DATA)
      stream.destroy(new ApiFault("unreachable", bytes.toString("utf8").trim()));
    else if (!stream.push(bytes)) socket.pause();
  });
  socket.on("close", () => stream.push(null));
  // Before `open`, the caller learns of it by the promise.
  socket.on("error", (error) => stream.destroy(faultOfTransport(error)));
  stream.on("error", () => undefined);
  return stream;
}

/** A page of an agent or a controller. */
export interface Page {
  readonly status: number;
  readonly text: string;
}

/** Bytes of the longest page that is read: the plan of an import with 25,000 endpoints has some 10 MB, `/metrics` less. */
export const MOST_BYTES = 64 * 1024 * 1024;

/** Requests one page over a connection, and closes it. Rejects with an ApiFault, or the reason of the signal. */
export async function readPage(
  connection: Duplex,
  path: string,
  signal: AbortSignal,
): Promise<Page> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Page>();
  const asked = request(
    {
      path,
      signal,
      createConnection: () => connection,
      // Pages on a loopback address are for clients that name it, which a browser's rebound name does not.
      headers: { host: "localhost", connection: "close" },
    },
    (response) => {
      const parts: Buffer[] = [];
      let length = 0;
      response.on("data", (part: Buffer) => {
        parts.push(part);
        length += part.length;
        if (length > MOST_BYTES) response.destroy(new ApiFault("garbage", "The page is too long"));
      });
      response.on("error", (error) => reject(faultOfTransport(error)));
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.concat(parts, length).toString("utf8"),
        }),
      );
    },
  );
  asked.on("error", (error) => reject(faultOfTransport(error)));
  // It may have ended before the request began, which would then wait for ever.
  const lost = (): void =>
    reject(faultOfTransport(connection.errored ?? new Error("Connection closed")));
  if (connection.destroyed) lost();
  else connection.once("close", lost);
  asked.end();
  try {
    return await promise;
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  } finally {
    connection.destroy();
  }
}
