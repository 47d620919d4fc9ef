import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Size } from "./services.ts";

/** Versions of all objects; a watch begins after it. */
const VERSION = "1000000";

/**
 * What an API server says about a clusterset of some size: every list, and watches in which nothing happens. It
 * says it as fast as anybody reads, which a real one does not.
 */
export class ObjectServer implements AsyncDisposable {
  readonly #size: Size;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch(() => response.destroy());
  });
  /** Bytes of objects that were sent. */
  bytes = 0;

  private constructor(size: Size) {
    this.#size = size;
  }

  static async start(size: Size): Promise<ObjectServer> {
    const server = new ObjectServer(size);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const resource = pathname.split("/").at(-1) ?? "";
    const make = OBJECTS[resource];
    if (make === undefined) {
      const status = { kind: "Status", apiVersion: "v1", status: "Failure", code: 404 };
      response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify(status));
      return;
    }
    response.writeHead(200, { "content-type": "application/json" });
    const [apiVersion] = /(?<=^\/apis\/).*(?=\/)|v1(?=\/nodes$)/.exec(pathname) ?? ["v1"];
    const total = resource === "nodes" ? 1 : this.#size.services;
    if (searchParams.get("watch") === "true") {
      const initial = searchParams.get("sendInitialEvents") === "true";
      const text = this.#watch(make, apiVersion, initial ? total : 0, initial);
      await pipeline(Readable.from(text), response, { end: false });
      return;
    }
    const from = Number(searchParams.get("continue") ?? 0);
    const limit = Number(searchParams.get("limit") ?? total);
    await pipeline(Readable.from(this.#page(make, apiVersion, from, limit, total)), response);
  }

  *#watch(make: Make, apiVersion: string, total: number, initial: boolean): Generator<string> {
    for (let n = 1; n <= total; n++) {
      const object = { apiVersion, ...make(n, this.#size) };
      yield this.#counted(`${JSON.stringify({ type: "ADDED", object })}\n`);
    }
    const annotations = initial ? { "k8s.io/initial-events-end": "true" } : {};
    const object = { apiVersion, metadata: { resourceVersion: VERSION, annotations } };
    yield `${JSON.stringify({ type: "BOOKMARK", object })}\n`;
  }

  *#page(
    make: Make,
    apiVersion: string,
    from: number,
    limit: number,
    total: number,
  ): Generator<string> {
    const to = Math.min(total, from + limit);
    const next = to < total ? String(to) : "";
    const metadata = { resourceVersion: VERSION, continue: next };
    yield `{"kind":"List","apiVersion":"${apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`;
    for (let n = from + 1; n <= to; n++) {
      yield this.#counted(`${n === from + 1 ? "" : ","}${JSON.stringify(make(n, this.#size))}`);
    }
    yield "]}\n";
  }

  #counted(text: string): string {
    this.bytes += text.length;
    return text;
  }
}

type Make = (n: number, size: Size) => object;

const OBJECTS: Readonly<Record<string, Make>> = {
  nodes: () => ({
    metadata: { name: "n1", uid: "n1", resourceVersion: VERSION },
    spec: { podCIDRs: ["10.1.3.0/24"] },
  }),
  serviceimports: (n) => ({
    kind: "ServiceImport",
    metadata: metadataOf(`service-${n}`, {}),
    spec: {
      type: "ClusterSetIP",
      ips: [`241.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`],
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
    },
  }),
  endpointslices: (n, { endpoints }) => ({
    metadata: metadataOf(`service-${n}-c2-xk2p${n % 10}`, {
      "endpointslice.kubernetes.io/managed-by": "clusterset-controller",
      "multicluster.kubernetes.io/service-name": `service-${n}`,
      "multicluster.kubernetes.io/source-cluster": `cluster-${n % 7}`,
      "topology.kubernetes.io/region": `region-${n % 3}`,
    }),
    addressType: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    endpoints: Array.from({ length: endpoints }, (_, i) => endpointOf(n * endpoints + i)),
  }),
};

function metadataOf(name: string, labels: Readonly<Record<string, string>>): object {
  return {
    name,
    namespace: "bench",
    uid: `6ba7b810-9dad-11d1-80b4-${name}`,
    resourceVersion: VERSION,
    creationTimestamp: "2026-01-02T03:04:05Z",
    labels,
  };
}

/** The `n`-th endpoint as the controller of EndpointSlices writes it: some 300 characters. */
export function endpointOf(n: number): object {
  return {
    addresses: [`10.${128 + ((n >> 16) & 127)}.${(n >> 8) & 255}.${n & 255}`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `ip-10-20-${n % 16}-${n % 61}.eu-west-1.compute.internal`,
    targetRef: {
      kind: "Pod",
      namespace: "bench",
      name: `web-7d4b9c6f5d-${n.toString(36).padStart(5, "x")}`,
      uid: `1b9d6bcd-bbfd-4b2d-9b5d-${n.toString(16).padStart(12, "0")}`,
    },
    zone: `eu-west-1${"abc"[n % 3]}`,
  };
}
