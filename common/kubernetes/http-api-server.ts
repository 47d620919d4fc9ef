import {
  Agent as HttpAgent,
  request as http,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, request as https } from "node:https";
import type { Clock } from "../clock.ts";
import { deadline } from "../deadline.ts";
import { ApiFault } from "./api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer, ApiWrite } from "./api-server.ts";
import { decoded } from "./body.ts";
import type { Credentials } from "./credentials.ts";
import { Recovery } from "./recovery.ts";
import { faultOfTransport } from "./transport.ts";

/** Milliseconds in which a TCP connection is made. */
const CONNECT_MS = 10_000;
/**
 * Milliseconds in which an answer begins, once connected. A stopped server lets its kernel accept connections, and
 * says nothing. A loaded one lets requests wait, for 60 s at most and mostly far less.
 */
const ANSWER_MS = 30_000;
/**
 * Milliseconds after which the kernel asks a silent connection for a sign of life. A dead link or host is known
 * within a minute; a process that stands still it does not notice.
 */
const KEEPALIVE_MS = 30_000;
/** Milliseconds for which an idle connection is kept: pages and new watches follow at once, or much later. */
const IDLE_MS = 10_000;

/**
 * An API server over HTTP/1.1, by a connection for each watch: what happens to one says nothing about the others,
 * and a request that hangs takes its connection with it. (Over HTTP/2 the next request would hang on the same.)
 * Connections are shared by what they were made with: after a certificate has changed, new ones are made.
 */
export class HttpApiServer implements ApiServer {
  readonly #credentials: Credentials;
  readonly #userAgent: string;
  readonly #clock: Clock;
  readonly #http = new HttpAgent({ keepAlive: true, timeout: IDLE_MS });
  readonly #https = new HttpsAgent({ keepAlive: true, timeout: IDLE_MS });
  readonly #closed = new AbortController();

  constructor(credentials: Credentials, userAgent: string, clock: Clock) {
    this.#credentials = credentials;
    this.#userAgent = userAgent;
    this.#clock = clock;
  }

  readonly recovery = new Recovery();

  get address(): string {
    return this.#credentials.address;
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
    const body = decoded(response, { encoding, silence: request.silence, clock: this.#clock });
    return { status, header, body };
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#credentials.stop();
    this.#http.destroy();
    this.#https.destroy();
  }

  /**
   * The answer, as soon as its headers are there. A connection that was kept may just have ended: who reads asks twice.
   * Who writes does not, since the first time may have been heard.
   */
  async #ask(
    url: URL,
    options: RequestOptions,
    payload: string | undefined,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    for (let kept = payload === undefined; ; ) {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const asked = (url.protocol === "https:" ? https : http)(url, { ...options, signal });
      // Made only when they are needed: the stack that an error takes is the dearest thing of a request.
      const late = (): void => {
        const message = `No connection within ${CONNECT_MS / 1000} seconds`;
        asked.destroy(new ApiFault("unreachable", message));
      };
      const silent = (): void => {
        asked.destroy(new ApiFault("stalled", `No answer within ${ANSWER_MS / 1000} seconds`));
      };
      let cancel = deadline(this.#clock, CONNECT_MS, late);
      asked.on("socket", (socket) => {
        socket.setKeepAlive(true, KEEPALIVE_MS);
        const connected = (): void => {
          cancel();
          cancel = deadline(this.#clock, ANSWER_MS, silent);
        };
        if (socket.connecting) socket.once("connect", connected);
        else connected();
      });
      asked.once("response", resolve);
      // For as long as it lives: a late error must find somebody.
      asked.on("error", reject);
      asked.end(payload);
      try {
        const response = await promise;
        // An error may come before anybody reads the body. Who reads then is told.
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

/** What is sent of a write. */
function payloadOf({ body, contentType = "application/json" }: ApiWrite) {
  const text = JSON.stringify(body);
  const length = String(Buffer.byteLength(text));
  return { text, headers: { "content-type": contentType, "content-length": length } };
}
