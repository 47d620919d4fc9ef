import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text as textOf } from "node:stream/consumers";

/** An object with its kind. */
export interface StaticObject {
  readonly apiVersion: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    annotations?: object;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** Options of a `StaticApiServer`. */
interface StaticOptions {
  /** Objects by resource, such as `services`. */
  readonly objects?: Readonly<Record<string, readonly StaticObject[]>>;
  /** API groups that are not served. */
  readonly without?: readonly string[];
  /** True: accepts requests, and never answers. */
  readonly silent?: boolean;
}

/**
 * An API server over HTTP, on the loopback, that lists objects as they are, whatever is in them, and applies merge patches of
 * annotations. For what no real API server would store, or answer.
 */
export class StaticApiServer implements AsyncDisposable {
  /** `METHOD path`. */
  readonly requests: string[] = [];
  readonly #options: StaticOptions;
  readonly #server: Server;

  private constructor(options: StaticOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(options: StaticOptions = {}): Promise<StaticApiServer> {
    const server = new StaticApiServer(options);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** With one context. */
  get kubeconfig(): string {
    return kubeconfigOf(this.url);
  }

  /** Requests that were to change something. */
  get writes(): readonly string[] {
    return this.requests.filter((one) => !one.startsWith("GET "));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const { pathname: path, searchParams } = new URL(url, this.url);
    this.requests.push(`${method} ${path}`);
    if (this.#options.silent === true) return;
    const body = await textOf(request);
    const { status, document } = this.#document(
      method,
      path,
      body,
      searchParams.get("labelSelector") ?? "",
    );
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof document === "string" ? document : JSON.stringify(document));
  }

  #document(
    method: string,
    path: string,
    body: string,
    labels: string,
  ): { status: number; document: unknown } {
    if (path.endsWith("/log")) return { status: 200, document: "a line\n" };
    if (path === "/version") return { status: 200, document: { major: "1", minor: "33" } };
    const found =
      /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+)(?=\/))?\/(?<resource>[^/]+)(?:\/(?<name>[^/]+))?$/.exec(
        path,
      )?.groups;
    const { group, version = "", namespace, resource = "", name } = found ?? {};
    const unserved = group !== undefined && this.#options.without?.includes(group) === true;
    if (found === undefined || unserved) return { status: 404, document: "404 page not found\n" };
    const all = (this.#options.objects?.[resource] ?? []).filter(
      ({ metadata }) =>
        (namespace === undefined || metadata.namespace === namespace) &&
        (name !== undefined || isSelected(metadata.labels ?? {}, labels)),
    );
    const apiVersion = group === undefined ? version : `${group}/${version}`;
    const items = all.map((one) => ({ ...one, ...{ apiVersion }, metadata: metaOf(one) }));
    if (method === "POST") {
      const created = JSON.parse(body) as StaticObject;
      return { status: 201, document: { ...created, metadata: metaOf(created) } };
    }
    if (name === undefined)
      return { status: 200, document: { apiVersion, metadata: { resourceVersion: "9" }, items } };
    const one = items.find(({ metadata }) => metadata.name === name);
    if (one === undefined) return { status: 404, document: { details: { name } } };
    if (method === "PATCH") {
      const patch = JSON.parse(body) as { metadata?: { annotations?: object } };
      const original = all.find(({ metadata }) => metadata.name === name);
      if (original !== undefined)
        original.metadata.annotations = {
          ...original.metadata.annotations,
          ...patch.metadata?.annotations,
        };
    }
    return { status: 200, document: one };
  }
}

/** `a=b,c in (d,e),f,!g`. */
function isSelected(labels: Readonly<Record<string, string>>, selector: string): boolean {
  const terms = selector.match(/(?:[^,(]|\([^)]*\))+/g) ?? [];
  return terms.every((term) => {
    const [, absent, key = "", value, values] =
      /^(!?)([^\s=]+)(?:==?(\S+)| in \((.*)\))?$/.exec(term.trim()) ?? [];
    const label = labels[key];
    if (absent === "!") return label === undefined;
    if (values !== undefined) return label !== undefined && values.split(",").includes(label);
    return value === undefined ? label !== undefined : label === value;
  });
}

function metaOf({ metadata }: StaticObject) {
  return { uid: `uid-${metadata.name}`.slice(0, 63), resourceVersion: "7", ...metadata };
}

/** A kubeconfig with one context, for `CommandLine`. `server`: URL. */
export function kubeconfigOf(server: string, cluster: object = {}): string {
  return JSON.stringify({
    clusters: [{ name: "c", cluster: { server, ...cluster } }],
    users: [{ name: "u", user: { token: "secret" } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
  });
}
