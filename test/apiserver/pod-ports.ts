import { once } from "node:events";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { type PageSources, pages } from "../../agent/observe/pages.ts";
import { HttpServer, type Route } from "../../common/http.ts";
import { logLines } from "../doubles/log-lines.ts";
import { manifest } from "../generators/objects.ts";
import { CertificateAuthority } from "./certificates.ts";
import type { ControlPlane } from "./control-plane.ts";

const NODE = "n1";
/** Of the kubelet's protocol: the stream of data, and that of errors. */
const [DATA, ERROR] = [0, 1];
const NAMESPACE = "clusterset-proxy";

/**
 * Logs and port-forwarding of a kubelet, on this process's loopback, and a Node and pods of it: programs of a test look as if they ran in
 * pods of a real API server. Everything between the client and this kubelet is real.
 */
export class PodPorts implements AsyncDisposable {
  readonly #plane: ControlPlane;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Ports of this loopback, by pod. */
  readonly #ports = new Map<string, number>();

  /** Of containers that run, by pod. */
  readonly logs = new Map<string, string>();
  readonly #agents: HttpServer[] = [];

  private constructor(plane: ControlPlane, server: Server) {
    this.#plane = plane;
    this.#server = server;
  }

  /** Starts it, as the kubelet of the Node `n1`. */
  static async start(plane: ControlPlane): Promise<PodPorts> {
    const name = "kubelet";
    const { certificate: cert, key } = new CertificateAuthority(name).certify({ name });
    const server = createServer({ cert, key });
    const ports = new PodPorts(plane, server);
    const sockets = new WebSocketServer({ noServer: true });
    server.on("connection", (socket: Socket) => {
      ports.#sockets.add(socket);
      socket.on("error", () => undefined);
    });
    server.on("request", (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "https://kubelet");
      const log = ports.logs.get(pathname.split("/")[3] ?? "");
      const isKnown = log !== undefined && !searchParams.has("previous");
      response.writeHead(isKnown ? 200 : 400).end(isKnown ? log : "no such container");
    });
    server.on("upgrade", (request, socket, head) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "https://kubelet");
      const pod = pathname.split("/")[3] ?? "";
      sockets.handleUpgrade(request, socket, head, (one) =>
        ports.#forward(one, ports.#ports.get(pod), Number(searchParams.get("port"))),
      );
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port: Port } = server.address() as AddressInfo;
    const node = manifest("Node", NODE);
    await plane.admin.apply(node);
    const status = {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port } },
    };
    await plane.admin.patch(node, { status }, "status");
    return ports;
  }

  /** A pod of a program, whose pages are on a port of this loopback. */
  async pod(program: string, name: string, port: number, ready = true): Promise<void> {
    const { admin } = this.#plane;
    const pod = manifest("Pod", `${NAMESPACE}/${name}`);
    const labels = { "app.kubernetes.io/name": `clusterset-${program}` };
    const containers = [{ name: program, image: `clusterset-${program}:0.1.0` }];
    const spec = { nodeName: NODE, automountServiceAccountToken: false, containers };
    await admin.apply({ ...pod, metadata: { ...pod.metadata, labels }, spec });
    const conditions = [{ type: "Ready", status: ready ? "True" : "False" }];
    await admin.patch(pod, { status: { phase: "Running", conditions } }, "status");
    this.#ports.set(name, port);
  }

  /** The pod `agent-1`, which serves these pages. */
  async agent(routes: readonly Route[]): Promise<void> {
    const server = new HttpServer({ host: "127.0.0.1", port: 0 }, routes, logLines().log);
    this.#agents.push(server);
    await this.pod("agent", "agent-1", await server.start());
  }

  /** Deletes a pod at once. */
  async remove(name: string): Promise<void> {
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}`;
    await this.#plane.admin.request("DELETE", path, { query: { gracePeriodSeconds: "0" } });
  }

  #forward(socket: WebSocket, to: number | undefined, port: number): void {
    const send = (channel: number, bytes: Buffer) =>
      socket.send(Buffer.concat([Buffer.of(channel), bytes]));
    const bytes = Buffer.alloc(2);
    bytes.writeUInt16LE(port);
    for (const channel of [DATA, ERROR]) send(channel, bytes);
    const target = connect(to ?? 1, "127.0.0.1");
    this.#sockets.add(target);
    target.on("data", (data) => send(DATA, data));
    target.on("end", () => socket.close());
    target.on("error", ({ message }) => send(ERROR, Buffer.from(message)));
    socket.on("message", (data: Buffer) => target.write(data.subarray(1)));
    socket.on("close", () => target.destroy());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await Promise.all(this.#agents.map((agent) => agent.stop()));
  }
}

/** The pages of an agent that is in sync, has no imports and reports nothing, or what it has instead. */
export function agentPages({
  agent,
  ...own
}: Partial<Omit<PageSources, "agent">> & {
  readonly agent: Partial<PageSources["agent"]>;
}): Route[] {
  return pages({
    clock: { now: () => performance.now() },
    metrics: { contentType: "text/plain", text: async () => "" },
    toolTimeout: () => 0,
    unlisted: () => undefined,
    findings: () => [],
    remarks: () => [],
    backend: "iptables",
    ...own,
    agent: {
      ...{ listed: true, families: new Map(), keys: () => [], plan: () => undefined },
      ...{ counts: async () => undefined, held: async () => [] },
      ...agent,
    },
  });
}
