import {
  Agent as HttpAgent,
  request as http,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, request as https } from "node:https";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { inSeconds } from "../../api/count.ts";
import { type Clock, deadline } from "../clock.ts";
import { ApiFault, faultOfTransport } from "./api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer, ApiWrite } from "./api-server.ts";
import type { CredentialExpiry } from "./credential-expiry.ts";
import type { Credentials } from "./credentials.ts";
import { Recovery } from "./recovery.ts";

/** Timeout of a TCP connect, in milliseconds. */
const CONNECT_MS = 10_000;
/** Timeout of the response headers, in milliseconds. A stopped server accepts connections, but never responds. */
const ANSWER_MS = 30_000;
/** TCP keepalive, in milliseconds: detects a dead link or host within a minute, but not a stopped process. */
const KEEPALIVE_MS = 30_000;
/** Milliseconds for which an idle connection is kept: pages and new watches follow immediately, or much later. */
const IDLE_MS = 10_000;

/**
 * An API server over HTTP/1.1. Each watch has its own connection: with HTTP/2, a hanging one would stop all requests.
 * Connections are pooled by TLS options, so that a new certificate opens new ones.
 */
export class HttpApiServer implements ApiServer {
  readonly #credentials: Credentials;
  readonly #userAgent: string;
  readonly #clock: Clock;
  readonly #http = new HttpAgent({ keepAlive: true, timeout: IDLE_MS });
  readonly #https = new HttpsAgent({ keepAlive: true, timeout: IDLE_MS });
  readonly #closed = new AbortController();
  readonly #limits: { readonly connect: number; readonly answer: number; readonly whole: number };

  /** `requestTimeout`: milliseconds for the beginning of an answer, and for all of it, besides the limits of each request. */
  constructor(credentials: Credentials, userAgent: string, clock: Clock, requestTimeout?: number) {
    this.#limits = {
      connect: Math.min(CONNECT_MS, requestTimeout ?? CONNECT_MS),
      answer: requestTimeout ?? ANSWER_MS,
      whole: requestTimeout ?? Number.POSITIVE_INFINITY,
    };
    this.#credentials = credentials;
    this.#userAgent = userAgent;
    this.#clock = clock;
  }

  readonly recovery = new Recovery();

  get address(): string {
    return this.#credentials.address;
  }

  get expiries(): readonly CredentialExpiry[] {
    return this.#credentials.expiries;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const { server, headers, proxy, tls } = await this.#credentials.access(request.signal);
    this.#closed.signal.throwIfAborted();
    const url = new URL(server + request.path);
    const secure = url.protocol === "https:";
    const payload = request.write && payloadOf(request.write);
    const options: RequestOptions = {
      ...tls,
      method: request.write?.method ?? "GET",
      agent: proxy ?? (secure ? this.#https : this.#http),
      headers: {
        ...headers,
        ...payload?.headers,
        accept: "application/json",
        "accept-encoding": request.compress === true ? "gzip" : "identity",
        "user-agent": this.#userAgent,
      },
    };
    const response = await this.#ask(url, options, payload?.text, request.signal);
    const status = response.statusCode ?? 0;
    if (status === 401) this.#credentials.refused();
    const header = (name: string): string | undefined => {
      const value = response.headers[name];
      return Array.isArray(value) ? value[0] : value;
    };
    const encoding = header("content-encoding");
    const limits = { silence: request.silence, whole: this.#limits.whole };
    return { status, header, body: decoded(response, encoding, limits, this.#clock) };
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#credentials.stop();
    this.#http.destroy();
    this.#https.destroy();
  }

  /** The response. If the server closed a kept-alive connection, a read is retried once; a write may have been processed. */
  async #ask(
    url: URL,
    options: RequestOptions,
    payload: string | undefined,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { connect, answer } = this.#limits;
    for (let kept = payload === undefined; ; ) {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const asked = (url.protocol === "https:" ? https : http)(url, { ...options, signal });
      // Created only when needed: the stack of an error costs more than the rest of a request.
      const late = (): void => {
        const message = `Connect timed out after ${inSeconds(connect)}`;
        asked.destroy(new ApiFault("unreachable", message));
      };
      const silent = (): void => {
        asked.destroy(new ApiFault("stalled", `No response within ${inSeconds(answer)}`));
      };
      let cancel = deadline(this.#clock, connect, late);
      asked.on("socket", (socket) => {
        socket.setKeepAlive(true, KEEPALIVE_MS);
        const connected = (): void => {
          cancel();
          cancel = deadline(this.#clock, answer, silent);
        };
        if (socket.connecting) socket.once("connect", connected);
        else connected();
      });
      asked.once("response", resolve);
      // Not once: a late error without a listener would end the process.
      asked.on("error", reject);
      asked.end(payload);
      try {
        const response = await promise;
        // An error may occur before the body is read; the reader still gets it.
        response.on("error", () => {});
        return response;
      } catch (thrown) {
        signal.throwIfAborted();
        const fault = faultOfTransport(thrown);
        if (!kept || !asked.reusedSocket || fault.reason !== "unreachable") throw fault;
        kept = false;
      } finally {
        cancel();
      }
    }
  }
}

function payloadOf({ body, contentType = "application/json" }: ApiWrite) {
  const text = JSON.stringify(body);
  const length = String(Buffer.byteLength(text));
  return { text, headers: { "content-type": contentType, "content-length": length } };
}

/**
 * The decompressed body. `encoding`: its `content-encoding` header. Throws an ApiFault: `unreachable` if the connection
 * breaks, `stalled` after `silence` milliseconds without data, or if it has not ended after `whole` milliseconds: a server may send some bytes now and then,
 * for ever. `garbage` if the encoding is invalid.
 */
async function* decoded(
  body: Readable,
  encoding: string | undefined,
  { silence, whole }: { readonly silence: number; readonly whole: number },
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  if (encoding !== undefined && encoding !== "gzip" && encoding !== "identity") {
    body.destroy();
    throw new ApiFault("garbage", `Unsupported content-encoding ${JSON.stringify(encoding)}`);
  }
  const stream = encoding === "gzip" ? gunzipped(body) : body;
  const end = clock.now() + whole;
  const late = (): void => {
    const seconds = inSeconds(Math.min(silence, whole));
    const why = clock.now() < end ? `No data for ${seconds}` : `No end within ${seconds}`;
    stream.destroy(new ApiFault("stalled", why));
  };
  const nextDeadline = () =>
    deadline(clock, Math.min(silence, Math.max(end - clock.now(), 0)), late);
  let cancel = nextDeadline();
  try {
    for await (const chunk of stream) {
      cancel();
      yield chunk;
      cancel = nextDeadline();
    }
  } catch (thrown) {
    throw faultOfTransport(thrown);
  } finally {
    cancel();
    body.destroy();
  }
}

function gunzipped(body: Readable): Readable {
  const gunzip = createGunzip();
  body.on("error", (error) => gunzip.destroy(error));
  gunzip.on("close", () => body.destroy());
  return body.pipe(gunzip);
}
