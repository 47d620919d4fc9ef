import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CodedError } from "./errors.ts";
import type { Logger } from "./log.ts";

/** What a page answers. */
export interface Reply {
  readonly status: number;
  /** Media type, with its charset. */
  readonly type: string;
  /** The whole text, or its parts in order: those are written as fast as the reader reads. */
  readonly body: string | Iterable<string>;
}

/** What a page is asked. */
export interface Request {
  /** The path's parts that the route has names for, in order, as they came: neither decoded nor checked. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

/** One page: a path such as `/plan/:namespace/:name`, whose `:` parts stand for any, and what answers it. */
export interface Route {
  readonly path: string;
  answer(request: Request): Reply | Promise<Reply>;
}

/** Where a server listens. Port 0 takes any that is free. */
export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

/** A plain text reply. */
export function plainText(status: number, body: string): Reply {
  return { status, type: "text/plain; charset=utf-8", body };
}

/** More readers than that at once are no probes and no Prometheus. */
const MOST_CONNECTIONS = 64;
/** Milliseconds after which a reader that neither asks nor reads is cut off. */
const IDLE = 10_000;

/** Serves a few read-only pages over HTTP. One misbehaving reader costs neither the others nor the agent. */
export class HttpServer {
  readonly #address: HttpAddress;
  readonly #log: Logger;
  readonly #routes: readonly Route[];
  readonly #server: Server;

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
    this.#server.maxConnections = MOST_CONNECTIONS;
    this.#server.setTimeout(IDLE);
  }

  /** Listens; gives the port. Throws CSP_HTTP_LISTEN if the address cannot be had. */
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
        // Without a listener, one connection too many for the process would end it.
        this.#server.on("error", (error) => this.#log.warn("HTTP server error.", { error }));
        resolve();
      });
    });
    const bound = this.#server.address();
    return typeof bound === "object" && bound !== null ? bound.port : port;
  }

  /** Stops at once; replies on their way are cut. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      // The only error is that the server was not listening, which is what is wanted.
      this.#server.close(() => resolve());
    });
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = await this.#reply(request);
    response.writeHead(reply.status, {
      "content-type": reply.type,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...(reply.status === 405 && { allow: "GET, HEAD" }),
      ...(typeof reply.body === "string" && { "content-length": Buffer.byteLength(reply.body) }),
    });
    if (request.method === "HEAD") response.end();
    else if (typeof reply.body === "string") response.end(reply.body);
    else await pipeline(Readable.from(reply.body), response);
  }

  async #reply(request: IncomingMessage): Promise<Reply> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return plainText(405, "This page is only to be read: GET or HEAD.\n");
    }
    const [path = "", query = ""] = (request.url ?? "").split("?", 2);
    for (const route of this.#routes) {
      const parts = matchPath(route.path, path);
      if (parts !== undefined) {
        return route.answer({ parts, query: new URLSearchParams(query) });
      }
    }
    const pages = this.#routes.map((route) => `${route.path}\n`).join("");
    return plainText(404, `No such page. There are:\n${pages}`);
  }

  #failed(response: ServerResponse, error: unknown): void {
    if (isReaderGone(error)) {
      this.#log.debug("A page was not read to its end.", { error });
      return;
    }
    this.#log.error("A page failed.", { error });
    // Too late for a status: pipeline has broken the reply off, so that the reader does not take it for whole.
    if (response.headersSent) return;
    response.writeHead(500, { "content-type": "text/plain; charset=utf-8" });
    response.end("This page failed; the log says why.\n");
  }
}

/** True if a reply failed because nobody reads it any more. */
function isReaderGone(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ERR_STREAM_PREMATURE_CLOSE" || code === "ECONNRESET" || code === "EPIPE";
}

/** The parts of `path` that `pattern` has names for; undefined if it does not match. PURE. */
export function matchPath(pattern: string, path: string): string[] | undefined {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return undefined;
  const named = wanted.map((part) => part.startsWith(":"));
  const matches = wanted.every((part, i) => named[i] === true || part === given[i]);
  return matches ? given.filter((_, i) => named[i]) : undefined;
}
