import { randomUUID } from "node:crypto";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { systemClock } from "../../common/clock.ts";
import type { ApiWrite } from "../../common/kubernetes/api-server.ts";
import type { Fields } from "./memory/fields.ts";
import { CALM, MemoryApiServer } from "./memory/memory-api-server.ts";

/** Answers one request, well or badly. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** As an API server answers a user who has no right to do that. */
export const forbidden: Answer = (_, response) =>
  void response.writeHead(403).end('{"kind":"Status","message":"not you"}');

/** The path of a question whether a user may do something, which changes nothing. */
const REVIEW = /\/selfsubjectaccessreviews$/;

interface FakeOptions {
  /** What it has, by resource, such as `services`, whatever a real API server would say to it. */
  readonly objects?: Readonly<Record<string, readonly object[]>>;
  /** API groups that are not served. */
  readonly without?: readonly string[];
  /** True: accepts requests, and never answers. */
  readonly silent?: boolean;
  /** How a request is answered; undefined: as always. */
  readonly answerTo?: (request: IncomingMessage) => Answer | undefined;
  /** Called with each request, which is answered after it. */
  readonly beforeAnswer?: () => Promise<void>;
}

/** An API server over HTTP, on the loopback, with a kubeconfig that leads to it: objects in memory, or what a test answers. */
export class FakeApiServer implements AsyncDisposable {
  /** The default responses. */
  readonly #memory = new MemoryApiServer(randomUUID(), systemClock, Math.random);
  /** How the next requests are answered. */
  readonly answers: Answer[] = [];
  /** All requests, and when their connections ended. */
  readonly requests: IncomingMessage[] = [];
  /** The path of the kubeconfig. */
  readonly kubeconfig: string;
  readonly #without: readonly string[];
  readonly #directory: string;
  readonly #server: Server;
  readonly #heard: (() => void)[] = [];

  private constructor(options: FakeOptions) {
    const { objects = {}, without = [], silent = false, beforeAnswer, answerTo } = options;
    this.#without = without;
    this.#memory.weather = CALM;
    for (const [resource, all] of Object.entries(objects))
      for (const one of all) this.#add(resource, one as Fields & Named);
    this.#directory = mkdtempSync(join(tmpdir(), "csp-fake-api-"));
    this.kubeconfig = this.file("kubeconfig");
    this.#server = createServer((request, response) => {
      this.requests.push(request);
      for (const heard of this.#heard.splice(0)) heard();
      const answer = this.answers.shift() ?? answerTo?.(request);
      if (answer !== undefined) answer(request, response);
      else if (!silent)
        void Promise.resolve(beforeAnswer?.()).then(() => this.#answer(request, response));
    });
  }

  static async start(options: FakeOptions = {}): Promise<FakeApiServer> {
    const fake = new FakeApiServer(options);
    await new Promise<void>((resolve) => fake.#server.listen(0, "127.0.0.1", resolve));
    fake.writeKubeconfig({ token: "first" });
    return fake;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The text of a kubeconfig with one context. */
  get inline(): string {
    return kubeconfigOf(this.url);
  }

  /** Requests that were to change something: `METHOD path`. */
  get writes(): string[] {
    const writes = this.requests.filter(
      ({ method, url = "" }) => method !== "GET" && !REVIEW.test(url),
    );
    return writes.map(({ method, url }) => `${method} ${url}`);
  }

  /** The path of a file in a directory of its own. */
  file(name: string): string {
    return join(this.#directory, name);
  }

  /** Puts another kubeconfig in its place, as tools do: by renaming. */
  writeKubeconfig(user: object): void {
    writeFileSync(this.file("new"), kubeconfigOf(this.url, user));
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

  #add(resource: string, object: Fields & Named): void {
    const { namespace, name } = object.metadata;
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    this.#memory.objects.replace(resource, key, object, "author");
    const has = namespace === undefined || this.#memory.objects.get("namespaces", namespace);
    if (!has) this.#add("namespaces", { metadata: { name: namespace } });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const { pathname } = new URL(url, this.url);
    const group = pathname.split("/")[2] ?? "";
    if (pathname === "/version") return void response.end('{"major":"1","minor":"33"}');
    if (REVIEW.test(pathname)) return void response.end('{"status":{"allowed":true}}');
    if (pathname.endsWith("/log")) return void response.end("a line\n");
    if (pathname.split("/").length < 4 || this.#without.includes(group))
      return void response.writeHead(404).end("404 page not found\n");
    const end = new AbortController();
    response.on("close", () => end.abort());
    const write = { method, body: method === "GET" ? undefined : await json(request) };
    const { status, body } = await this.#memory.request({
      path: url,
      signal: end.signal,
      silence: 3_600_000,
      ...(method !== "GET" && { write: write as ApiWrite }),
    });
    response.writeHead(status);
    response.flushHeaders();
    Readable.from(body)
      .on("error", () => response.destroy())
      .pipe(response);
  }
}

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** The text of a kubeconfig with one context. `server`: URL. */
export function kubeconfigOf(server: string, user: object = { token: "secret" }): string {
  return JSON.stringify({
    "current-context": "here",
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
  });
}
