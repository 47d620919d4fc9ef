import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { Agent, type Dispatcher } from "undici";

/** An object of an API server: any JSON. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** Which object, or, without a name, which objects: `{ apiVersion, kind, metadata: { namespace, name } }`. */
export interface ApiReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
}

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly contentType?: string;
  /** Milliseconds until the request times out; 10,000 by default. */
  readonly timeout?: number;
}

/** The response, with any status. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** An answer that is no success. `status` is HTTP's; the message is the API server's own. */
export class ApiError extends Error {
  readonly status: number;

  constructor(what: string, { status, body }: Answer) {
    const said = body as { message?: string } | undefined;
    super(`${what}: ${status} ${said?.message ?? JSON.stringify(body)}`);
    this.status = status;
  }
}

export interface ApiClientOptions {
  /** For people: `https://address:port`. */
  readonly url: string;
  readonly connect: () => Promise<Socket>;
  /** File with the certificates that are trusted; read at each connection. */
  readonly caFile: string;
  readonly token: () => string;
}

/**
 * A client for tests: objects in, objects out, by their kind. It trusts what `caFile` has, and nothing else. No
 * retries: a test sees what happened.
 */
export class ApiClient implements AsyncDisposable {
  readonly #options: ApiClientOptions;
  readonly #agent: Agent;
  /** Plural and scope, by apiVersion and kind. */
  readonly #resources = new Map<string, { path: string; namespaced: boolean }>();

  constructor(options: ApiClientOptions) {
    this.#options = options;
    const { host, hostname } = new URL(options.url);
    this.#agent = new Agent({
      bodyTimeout: 0, // A watch may be quiet for long.
      connect: (_, done) => {
        this.#connect(hostname).then(
          (socket) => done(null, socket),
          (error: Error) => done(new Error(`${host}: ${error.message}`), null),
        );
      },
    });
  }

  /** One request of any kind. Throws only without an answer. */
  async request(method: Dispatcher.HttpMethod, path: string, options: RequestOptions = {}) {
    const { timeout = 10_000 } = options;
    const response = await this.#send(method, path, options, AbortSignal.timeout(timeout));
    const text = await response.body.text();
    const isJson = String(response.headers["content-type"]).startsWith("application/json");
    const body: unknown = isJson ? JSON.parse(text) : text;
    return { status: response.statusCode, body } satisfies Answer;
  }

  async get(reference: ApiReference): Promise<ApiObject> {
    return this.#succeed("GET", await this.pathOf(reference));
  }

  /** The same; undefined if it is not there. */
  async find(reference: ApiReference): Promise<ApiObject | undefined> {
    const path = await this.pathOf(reference);
    const answer = await this.request("GET", path);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw new ApiError(`GET ${path}`, answer);
    return answer.body as ApiObject;
  }

  /** All objects of a kind, in a namespace if one is named. */
  async list(reference: ApiReference, query: Readonly<Record<string, string>> = {}) {
    const list = await this.#succeed("GET", await this.pathOf(reference, "all"), { query });
    return list.items as ApiObject[];
  }

  async create(object: object): Promise<ApiObject> {
    return this.#succeed("POST", await this.pathOf(object, "all"), { body: object });
  }

  /** Creates thousands of objects, 16 at a time: about 400 a second. */
  async createAll(objects: Iterable<object>): Promise<void> {
    const rest = Iterator.from(objects);
    const worker = async () => {
      for (const object of rest) await this.create(object);
    };
    await Promise.all(Array.from({ length: 16 }, worker));
  }

  /** Replaces. With `metadata.resourceVersion`: only if that is the object's still. */
  async update(object: object): Promise<ApiObject> {
    return this.#succeed("PUT", await this.pathOf(object), { body: object });
  }

  /** Creates, or makes what is there like this (server-side apply, by force); `subresource`: of `status`, say. */
  async apply(object: object, fieldManager = "test", subresource?: string): Promise<ApiObject> {
    const query = { fieldManager, force: "true" };
    // JSON is YAML.
    const options = { query, body: object, contentType: "application/apply-patch+yaml" };
    return this.#succeed("PATCH", await this.pathOf(object, subresource), options);
  }

  /** A JSON merge patch; `subresource`: of `status`, say. */
  async patch(reference: ApiReference, patch: object, subresource?: string): Promise<ApiObject> {
    const options = { body: patch, contentType: "application/merge-patch+json" };
    return this.#succeed("PATCH", await this.pathOf(reference, subresource), options);
  }

  /** Throws if it is not there. Without a name: all objects of the kind in the namespace. */
  async delete(reference: ApiReference): Promise<void> {
    await this.#succeed("DELETE", await this.pathOf(reference));
  }

  /** Events of a watch as they arrive, until the connection or the reader ends. */
  async *watch(reference: ApiReference, query: Readonly<Record<string, string>> = {}) {
    const path = await this.pathOf(reference, "all");
    const stop = new AbortController();
    const options = { query: { ...query, watch: "true" } };
    try {
      const response = await this.#send("GET", path, options, stop.signal);
      if (response.statusCode !== 200) {
        const body: unknown = await response.body.json();
        throw new ApiError(`watch ${path}`, { status: response.statusCode, body });
      }
      let rest = "";
      for await (const chunk of response.body.setEncoding("utf8")) {
        const lines = `${rest}${chunk}`.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield JSON.parse(line) as { type: string; object: ApiObject };
      }
    } finally {
      stop.abort();
    }
  }

  /** The path of an object, of a subresource, or of `all` objects of its kind. Asks the API server which resource a kind is. */
  async pathOf(object: object, which = "object"): Promise<string> {
    const { apiVersion, kind, metadata = {} } = object as ApiReference;
    const { path, namespaced } = await this.#resourceOf(apiVersion, kind);
    const { namespace = namespaced && which !== "all" ? "default" : undefined, name } = metadata;
    const inside = namespaced && namespace !== undefined ? `/namespaces/${namespace}` : "";
    const all = `${rootOf(apiVersion)}${inside}/${path}`;
    if (name === undefined || which === "all") return all;
    return which === "object" ? `${all}/${name}` : `${all}/${name}/${which}`;
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #connect(host: string): Promise<TLSSocket> {
    const ca = readFileSync(this.#options.caFile);
    const socket = await this.#options.connect();
    const tls = connectTls({ socket, ca, host, ALPNProtocols: ["http/1.1"] });
    await once(tls, "secureConnect"); // Throws what comes as "error" first.
    return tls;
  }

  async #resourceOf(apiVersion: string, kind: string) {
    const key = `${apiVersion} ${kind}`;
    const known = this.#resources.get(key);
    if (known !== undefined) return known;
    const { resources } = await this.#succeed("GET", rootOf(apiVersion));
    const found = (resources as { kind: string; name: string; namespaced: boolean }[]).find(
      (one) => one.kind === kind && !one.name.includes("/"),
    );
    if (found === undefined)
      throw new Error(`${this.#options.url} has no ${kind} in ${apiVersion}`);
    const resource = { path: found.name, namespaced: found.namespaced };
    this.#resources.set(key, resource);
    return resource;
  }

  async #succeed(method: Dispatcher.HttpMethod, path: string, options: RequestOptions = {}) {
    const answer = await this.request(method, path, options);
    if (answer.status < 200 || answer.status > 299) throw new ApiError(`${method} ${path}`, answer);
    return answer.body as ApiObject;
  }

  #send(method: Dispatcher.HttpMethod, path: string, options: RequestOptions, signal: AbortSignal) {
    const { query, body, contentType = "application/json" } = options;
    const asked = this.#agent.request({
      origin: this.#options.url,
      method,
      path,
      ...(query !== undefined && { query }),
      signal,
      headers: {
        authorization: `Bearer ${this.#options.token()}`,
        accept: "application/json",
        ...(body !== undefined && { "content-type": contentType }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // undici checks the signal once it is connected, which never happens with a server that does not respond.
    const given = Promise.withResolvers<never>();
    const giveUp = () => given.reject(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    return Promise.race([asked, given.promise]).finally(() =>
      signal.removeEventListener("abort", giveUp),
    );
  }
}

function rootOf(apiVersion: string): string {
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}
