import { createHash } from "node:crypto";
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import { systemClock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { ApiRequest, ApiResponse, ApiServer } from "./api-server.ts";
import { type Access, Credentials } from "./credentials.ts";
import { decoded, faultOfTransport } from "./transport.ts";

/** Milliseconds in which a connection is made, TLS included. */
const CONNECT_MS = 10_000;
/** Milliseconds in which an answer begins. A loaded API server queues requests, for 60 s at most, mostly less. */
const HEADERS_MS = 30_000;
/**
 * Milliseconds after which the kernel asks a silent connection for a sign of life. A dead link or host is known
 * within a minute; it does not notice a process that stands still (SIGSTOP).
 */
const KEEPALIVE_MS = 30_000;

/** What `connect` needs to know. */
export interface ConnectOptions {
  /** The path of a kubeconfig file; without it, the service account of the pod. */
  readonly kubeconfig?: string;
  readonly log: Logger;
  /** Who asks, as the API server's audit log shows it. */
  readonly userAgent?: string;
}

/** The API server that a kubeconfig's current context names. Connects with the first request. Throws CSP_KUBECONFIG. */
export async function connect(options: ConnectOptions): Promise<ApiServer> {
  const { kubeconfig, log, userAgent = "clusterset-proxy" } = options;
  const credentials = await Credentials.load({ kubeconfig, log, clock: systemClock });
  return new HttpApiServer(credentials, userAgent);
}

/**
 * HTTP/1.1, a connection for each watch: what happens to one says nothing about the others, and ending a request
 * that hangs ends its connection. (Over HTTP/2 the next request would hang on the same one.)
 */
class HttpApiServer implements ApiServer {
  readonly #credentials: Credentials;
  readonly #userAgent: string;
  readonly #dispatchers = new Set<Dispatcher>();
  #dispatcher: Dispatcher | undefined;
  /** What the dispatcher was made for. */
  #digest = "";
  #closed = false;

  constructor(credentials: Credentials, userAgent: string) {
    this.#credentials = credentials;
    this.#userAgent = userAgent;
  }

  get address(): string {
    return this.#credentials.address;
  }

  async request({ path, signal, silence, compress }: ApiRequest): Promise<ApiResponse> {
    const access = await this.#credentials.access();
    signal.throwIfAborted();
    const url = new URL(access.server);
    try {
      const { statusCode, headers, body } = await this.#dispatcherFor(access).request({
        origin: url.origin,
        path: url.pathname.replace(/\/$/, "") + path,
        method: "GET",
        headers: {
          ...access.headers,
          accept: "application/json",
          "accept-encoding": compress === true ? "gzip" : "identity",
          "user-agent": this.#userAgent,
        },
        signal,
        headersTimeout: HEADERS_MS,
        bodyTimeout: silence,
      });
      if (statusCode === 401) this.#credentials.refused();
      // An error may come before anybody reads; whoever reads then is told.
      body.on("error", () => {});
      const header = (name: string): string | undefined => {
        const value = headers[name];
        return Array.isArray(value) ? value[0] : value;
      };
      return { status: statusCode, header, body: decoded(body, header("content-encoding")) };
    } catch (thrown) {
      signal.throwIfAborted();
      throw faultOfTransport(thrown);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#dispatchers].map((dispatcher) => dispatcher.destroy()));
  }

  /** One for all requests, until certificates change; requests that run on the last one end in their own time. */
  #dispatcherFor(access: Access): Dispatcher {
    const digest = digestOf(access);
    if (this.#dispatcher !== undefined && digest === this.#digest) return this.#dispatcher;
    const last = this.#dispatcher;
    if (last !== undefined) void last.close().finally(() => this.#dispatchers.delete(last));
    const next = dispatcherOf(access);
    if (this.#closed) void next.destroy();
    this.#dispatchers.add(next);
    this.#dispatcher = next;
    this.#digest = digest;
    return next;
  }
}

function dispatcherOf({ proxy, tls }: Access): Dispatcher {
  const connect = {
    ...tls,
    timeout: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelay: KEEPALIVE_MS,
    allowH2: false,
  };
  if (proxy === undefined) return new Agent({ connect, allowH2: false });
  return new ProxyAgent({ uri: proxy, requestTls: connect, allowH2: false });
}

/** Differs where a connection would have to be another. */
function digestOf({ server, proxy, tls }: Access): string {
  return createHash("sha256")
    .update(JSON.stringify([server, proxy, tls]))
    .digest("base64");
}
