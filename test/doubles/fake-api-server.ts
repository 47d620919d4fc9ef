import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { systemClock } from "../../common/clock.ts";
import { CALM, MemoryApiServer } from "./memory/memory-api-server.ts";

/** Answers one request, well or badly. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** An API server over HTTP, on the loopback, with a kubeconfig that leads to it. */
export class FakeApiServer implements AsyncDisposable {
  /** The default responses. */
  readonly #memory = new MemoryApiServer("fake", systemClock, Math.random);
  /** How the next requests are answered. */
  readonly answers: Answer[] = [];
  /** All requests, and when their connections ended. */
  readonly requests: IncomingMessage[] = [];
  readonly kubeconfig: string;
  readonly #directory: string;
  readonly #server: Server;
  readonly #heard: (() => void)[] = [];

  private constructor() {
    this.#memory.weather = CALM;
    this.#directory = mkdtempSync(join(tmpdir(), "csp-fake-api-"));
    this.kubeconfig = this.file("kubeconfig");
    this.#server = createServer((request, response) => {
      this.requests.push(request);
      for (const heard of this.#heard.splice(0)) heard();
      const answer = this.answers.shift();
      if (answer !== undefined) answer(request, response);
      else void this.#answer(request, response);
    });
  }

  static async start(): Promise<FakeApiServer> {
    const fake = new FakeApiServer();
    await new Promise<void>((resolve) => fake.#server.listen(0, "127.0.0.1", resolve));
    fake.writeKubeconfig({ token: "first" });
    return fake;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** The path of a file in a directory of its own. */
  file(name: string): string {
    return join(this.#directory, name);
  }

  /** Puts another kubeconfig in its place, as tools do: by renaming. */
  writeKubeconfig(user: object): void {
    const server = `http://127.0.0.1:${this.port}`;
    const config = {
      "current-context": "here",
      clusters: [{ name: "c", cluster: { server } }],
      users: [{ name: "u", user }],
      contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
    };
    writeFileSync(this.file("new"), JSON.stringify(config));
    renameSync(this.file("new"), this.kubeconfig);
  }

  /** When the next request has arrived. */
  nextRequest(): Promise<void> {
    return new Promise((resolve) => this.#heard.push(resolve));
  }

  /** Cuts all connections, and listens on. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
    rmSync(this.#directory, { recursive: true });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const end = new AbortController();
    response.on("close", () => end.abort());
    const { status, body } = await this.#memory.request({
      path: request.url ?? "",
      signal: end.signal,
      silence: 3_600_000,
    });
    response.writeHead(status);
    response.flushHeaders();
    Readable.from(body)
      .on("error", () => response.destroy())
      .pipe(response);
  }
}
