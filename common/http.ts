import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { escaped } from "../api/problem.ts";
import { CodedError } from "./errors.ts";
import type { Logger } from "./log.ts";

/** A response. */
export interface Reply {
  readonly status: number;
  /** Media type, with its charset. */
  readonly type: string;
  /** The text, or its parts in order, which are streamed. */
  readonly body: string | Iterable<string>;
}

/** A request for a page. */
export interface Request {
  /** The path segments of the route's `:` parameters, in order, neither decoded nor validated. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

/** A page: a path such as `/plan/:namespace/:name`, with `:` parameters, and its handler. */
export interface Route {
  readonly path: string;
  /** True for a small page that is always answered, however many others are being sent. */
  readonly probe?: true;
  answer(request: Request): Reply | Promise<Reply>;
}

/** A listen address. Port 0 selects a free port. */
export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

/** A plain text reply. */
export function plainText(status: number, body: string): Reply {
  return { status, type: "text/plain; charset=utf-8", body };
}

/**
 * A reply that does not control a terminal, to which `curl` writes it as it is: pages have texts of API servers, peers and tenants. Escapes are those of
 * JSON.
 */
function visible({ body, ...reply }: Reply): Reply {
  const shown = (text: string): string => text.replaceAll(/[^\n\t\x20-\x7e]+/g, escaped);
  return {
    ...reply,
    body: typeof body === "string" ? shown(body) : Iterator.from(body).map(shown),
  };
}

/** Enough for probes and Prometheus. */
const MOST_CONNECTIONS = 64;
/** Pages, except probes, that are sent at the same time, and those of them to one client address. */
const MOST_PAGES = 8;
const MOST_PAGES_OF_ONE = 4;
/** Milliseconds after which a response is cut off: a client that reads slowly holds a page in memory. */
const LONGEST_RESPONSE = 30_000;
/** Milliseconds after which an idle connection is closed. */
const IDLE = 10_000;

/** Serves a few read-only pages over HTTP. A misbehaving client affects neither others nor the process. */
export class HttpServer {
  readonly #address: HttpAddress;
  readonly #log: Logger;
  readonly #routes: readonly Route[];
  readonly #server: Server;
  readonly #pages = new PagesInFlight(MOST_PAGES, MOST_PAGES_OF_ONE);

  constructor(address: HttpAddress, routes: readonly Route[], log: Logger) {
    this.#address = address;
    this.#routes = routes;
    this.#log = log;
    this.#server = createServer(
      {
        headersTimeout: IDLE,
        requestTimeout: IDLE,
        connectionsCheckingInterval: IDLE / 2,
        keepAliveTimeout: IDLE,
        maxHeaderSize: 8 * 1024,
      },
      (request, response) => {
        this.#serve(request, response).catch((error: unknown) => this.#failed(response, error));
      },
    );
    const connections = new HttpConnections(MOST_CONNECTIONS);
    this.#server.on("connection", (socket) => connections.add(socket));
    this.#server.setTimeout(IDLE);
  }

  /** Listens; returns the port. Throws CSP_HTTP_LISTEN. */
  async start(): Promise<number> {
    const { host, port } = this.#address;
    await new Promise<void>((resolve, reject) => {
      const refused = (cause: Error): void =>
        reject(
          new CodedError("CSP_HTTP_LISTEN", `Cannot listen on ${host}, port ${port}`, { cause }),
        );
      this.#server.once("error", refused);
      this.#server.listen({ host, port }, () => {
        this.#server.off("error", refused);
        // Without a listener, running out of file descriptors would end the process.
        this.#server.on("error", (error) => this.#log.warn("HTTP server error", { error }));
        resolve();
      });
    });
    const bound = this.#server.address();
    return typeof bound === "object" && bound !== null ? bound.port : port;
  }

  /** Stops immediately; open responses are cut off. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      // The only possible error is that the server was not listening.
      this.#server.close(() => resolve());
    });
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const deadline = setTimeout(() => request.socket.destroy(), LONGEST_RESPONSE);
    response.once("close", () => clearTimeout(deadline));
    const { body, ...reply } = visible(await this.#reply(request, response));
    response.writeHead(reply.status, {
      "content-type": reply.type,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...(reply.status === 405 && { allow: "GET, HEAD" }),
      ...(reply.status === 429 && { "retry-after": "5" }),
      ...(typeof body === "string" && { "content-length": Buffer.byteLength(body) }),
    });
    if (request.method === "HEAD") response.end();
    else if (typeof body === "string") response.end(body);
    // One part at a time: the parts of a large page need not be in memory together.
    else await pipeline(Readable.from(body, { highWaterMark: 1 }), response);
  }

  async #reply(request: IncomingMessage, response: ServerResponse): Promise<Reply> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return plainText(405, "Method not allowed: use GET or HEAD.\n");
    }
    const { host } = request.headers;
    if (host !== undefined && isLoopback(this.#address.host) && !LOCAL_HOST.test(host)) {
      return plainText(421, "Use an IP address or localhost.\n");
    }
    const [path = "", query = ""] = (request.url ?? "").split("?", 2);
    for (const route of this.#routes) {
      const parts = matchPath(route.path, path);
      if (parts === undefined) continue;
      const end = route.probe || this.#pages.begin(request.socket.remoteAddress ?? "");
      if (end === undefined) return plainText(429, "Too many pages at the same time.\n");
      if (end !== true) response.once("close", end);
      return route.answer({ parts, query: new URLSearchParams(query) });
    }
    const pages = this.#routes.map((route) => `${route.path}\n`).join("");
    return plainText(404, `Not found. Pages:\n${pages}`);
  }

  #failed(response: ServerResponse, error: unknown): void {
    if (isReaderGone(error)) {
      this.#log.debug("Client closed the connection during a response", { error });
      return;
    }
    this.#log.error("Serving a page failed", { error });
    // Too late for a status: pipeline has aborted the response, so that the client detects the error.
    if (response.headersSent) return;
    response.writeHead(500, { "content-type": "text/plain; charset=utf-8" });
    response.end("Internal error; see the log.\n");
  }
}

/**
 * The Host header of a client on the node. A web page could use its own name for the loopback address, and read pages
 * through the browser of an administrator (DNS rebinding).
 */
const LOCAL_HOST = /^(localhost|[\d.]+|\[[\da-f:.]+\])(:\d+)?$/i;

function isLoopback(host: string): boolean {
  return host.startsWith("127.") || host === "::1";
}

/** True if a response failed because the client disconnected. */
function isReaderGone(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ERR_STREAM_PREMATURE_CLOSE" || code === "ECONNRESET" || code === "EPIPE";
}

/** The `:` parameters of `pattern` in `path`; undefined if it does not match. PURE. */
export function matchPath(pattern: string, path: string): string[] | undefined {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return undefined;
  const named = wanted.map((part) => part.startsWith(":"));
  const matches = wanted.every((part, i) => named[i] === true || part === given[i]);
  return matches ? given.filter((_, i) => named[i]) : undefined;
}

/**
 * The open connections of a server. Over the limit the oldest one is cut, not the new one refused: clients that hold
 * connections open must not keep a probe out, and a probe is over in milliseconds.
 */
class HttpConnections {
  readonly #most: number;
  /** In order of arrival. */
  readonly #open = new Set<Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  add(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    const [oldest] = this.#open;
    if (this.#open.size > this.#most) oldest?.destroy();
  }
}

/** Counts pages that are being sent, in total and for each client address. */
class PagesInFlight {
  readonly #most: number;
  readonly #mostOfOne: number;
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  /** Admits one more page for an address; undefined if there are too many, else what to call at its end. */
  begin(address: string): (() => void) | undefined {
    const own = this.#byAddress.get(address) ?? 0;
    if (this.#total >= this.#most || own >= this.#mostOfOne) return undefined;
    this.#total++;
    this.#byAddress.set(address, own + 1);
    return () => {
      this.#total--;
      const left = (this.#byAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#byAddress.delete(address);
      else this.#byAddress.set(address, left);
    };
  }
}
