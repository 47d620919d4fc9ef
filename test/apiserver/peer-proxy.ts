import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, request, type Server } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { apiServerFiles } from "./api-server.ts";
import type { ControlPlane } from "./control-plane.ts";

/** What becomes of an answer on its way; undefined: another one was given in its place. */
export type Meddling = (asked: URL, response: ServerResponse) => "pass" | "trickle" | undefined;

/** All is as it should be. */
export const HONEST: Meddling = () => "pass";
/** Every answer begins late, and comes in small pieces. */
export const SLOW: Meddling = () => "trickle";

/** Between pieces, and before the first one. */
const TRICKLE = { bytes: 400, ms: 20, first: 1000 };

/** A proxy between an API server and its clients, with the same certificate, that can delay or change responses. */
export class PeerProxy implements AsyncDisposable {
  readonly #plane: ControlPlane;
  readonly #server: Server;
  #meddling: Meddling = HONEST;

  private constructor(plane: ControlPlane) {
    this.#plane = plane;
    const { ca: cert } = apiServerFiles(plane.directory);
    const key = cert.replace(/\.crt$/, ".key");
    const options = { cert: readFileSync(cert), key: readFileSync(key) };
    this.#server = createServer(options, (asked, response) => this.#answer(asked, response));
  }

  /** Changes nothing at first. On the loopback, as the control plane must be. */
  static async open(plane: ControlPlane): Promise<PeerProxy> {
    const proxy = new PeerProxy(plane);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** The text of a kubeconfig that leads here. */
  kubeconfig(user: string): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("it does not listen");
    const url = `https://127.0.0.1:${address.port}`;
    return this.#plane.inlineKubeconfig({ user }).replaceAll(this.#plane.url, url);
  }

  /** From now on; connections that are there break. */
  meddle(meddling: Meddling): void {
    this.#meddling = meddling;
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  #answer(asked: IncomingMessage, response: ServerResponse): void {
    const url = new URL(asked.url ?? "/", this.#plane.url);
    const how = this.#meddling(url, response);
    if (how === undefined) return;
    const options = {
      method: asked.method,
      headers: { ...asked.headers, host: url.host },
      ca: readFileSync(apiServerFiles(this.#plane.directory).ca),
    };
    const forward = request(url, options, (answer) => {
      response.on("close", () => answer.destroy());
      answer.on("error", () => response.destroy());
      void pass(answer, response, how === "trickle");
    });
    forward.on("error", () => response.destroy());
    response.on("close", () => forward.destroy());
    asked.pipe(forward);
  }
}

async function pass(
  answer: IncomingMessage,
  response: ServerResponse,
  isSlow: boolean,
): Promise<void> {
  try {
    if (isSlow) await sleep(TRICKLE.first);
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    response.flushHeaders();
    for await (const chunk of answer) {
      if (!Buffer.isBuffer(chunk)) throw new Error("bytes");
      if (!isSlow) response.write(chunk);
      for (let at = 0; isSlow && at < chunk.length; at += TRICKLE.bytes) {
        response.write(chunk.subarray(at, at + TRICKLE.bytes));
        await sleep(TRICKLE.ms);
      }
    }
    response.end();
  } catch {
    // One side has closed: so does the other.
    response.destroy();
  }
}
