// An API server of a few objects in a file, for a kube-proxy where there is no etcd: lists and watches, and nothing else.
// When the file is replaced, watches hear of what is different. Arguments: the file, a `List` in JSON, and the port.
import { readFileSync, watchFile } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
}

const [file = "", port = ""] = process.argv.slice(2);
/** `/apis/discovery.k8s.io/v1/endpointslices`: the kind that is stored there. */
const RESOURCES: ReadonlyMap<string, { readonly apiVersion: string; readonly kind: string }> =
  new Map([
    ["/api/v1/nodes", { apiVersion: "v1", kind: "Node" }],
    ["/api/v1/services", { apiVersion: "v1", kind: "Service" }],
    [
      "/apis/discovery.k8s.io/v1/endpointslices",
      { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
    ],
    [
      "/apis/networking.k8s.io/v1/servicecidrs",
      { apiVersion: "networking.k8s.io/v1", kind: "ServiceCIDR" },
    ],
  ]);
const watches = new Map<ServerResponse, string>();
let version = 1;
let objects = new Map<string, StoredObject & { readonly text: string }>();

function load(): void {
  const { items } = JSON.parse(readFileSync(file, "utf8")) as { items: readonly StoredObject[] };
  const before = objects;
  objects = new Map();
  for (const item of items) {
    const { namespace = "", name } = item.metadata;
    const id = `${item.kind} ${namespace}/${name}`;
    const old = before.get(id);
    const text = JSON.stringify(item);
    if (old?.text === text) {
      objects.set(id, old);
      continue;
    }
    const metadata = { ...item.metadata, uid: id, resourceVersion: String(++version) };
    const stored = { ...item, metadata, text };
    objects.set(id, stored);
    tell(old === undefined ? "ADDED" : "MODIFIED", stored);
  }
  for (const [id, old] of before) {
    if (objects.has(id)) continue;
    tell("DELETED", { ...old, metadata: { ...old.metadata, resourceVersion: String(++version) } });
  }
}

function tell(type: string, { text: _text, ...object }: StoredObject & { text: string }): void {
  for (const [response, kind] of watches)
    if (kind === object.kind) response.write(`${JSON.stringify({ type, object })}\n`);
}

function of(kind: string): StoredObject[] {
  const found = [...objects.values()].filter((one) => one.kind === kind);
  return found.map(({ text: _text, ...object }) => object);
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://server");
  const resource = RESOURCES.get(pathname);
  response.setHeader("content-type", "application/json");
  if (request.method !== "GET" || resource === undefined) {
    // Accepts events; all other requests return 404.
    const code = request.method === "GET" ? 404 : 201;
    const status = { kind: "Status", apiVersion: "v1", metadata: {}, code, reason: "NotFound" };
    response.writeHead(code).end(JSON.stringify(status));
    return;
  }
  const { apiVersion, kind } = resource;
  const metadata = { resourceVersion: String(version) };
  if (searchParams.get("watch") !== "true") {
    response.end(JSON.stringify({ apiVersion, kind: `${kind}List`, metadata, items: of(kind) }));
    return;
  }
  response.flushHeaders();
  watches.set(response, kind);
  response.on("close", () => watches.delete(response));
  if (searchParams.get("sendInitialEvents") !== "true") return;
  for (const object of of(kind)) response.write(`${JSON.stringify({ type: "ADDED", object })}\n`);
  const annotations = { "k8s.io/initial-events-end": "true" };
  const object = { apiVersion, kind, metadata: { ...metadata, annotations } };
  response.write(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
}

load();
watchFile(file, { interval: 100 }, load);
createServer(answer).listen(Number(port), "127.0.0.1", () => console.log("ready"));
