import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, Socket } from "node:net";
import type { Namespace } from "../lab/namespace.ts";
import { Process } from "../lab/process.ts";

/** Where a control plane runs, and how this process gets to it. */
export interface Place extends Disposable {
  /** Where the API server listens. */
  readonly address: string;
  readonly port: number;
  /** Starts a program there that ends with this process. */
  spawn(argv: readonly string[]): Process;
  /** A TCP connection to the API server. */
  connect(): Promise<Socket>;
}

/**
 * The kernel kills the program when its parent has ended, also by `kill -9`. The lab's guard also kills all processes in a lab's
 * namespaces.
 */
const WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"];

/** The loopback of this process's own namespace: clients in the test itself can reach it. */
export async function loopback(): Promise<Place> {
  const address = "127.0.0.1";
  const port = await freePort(address);
  return {
    address,
    port,
    spawn: (argv) => new Process([...WITH_PARENT, ...argv]),
    connect: async () => {
      const socket = connect(port, address);
      await once(socket, "connect"); // Throws what comes as "error" first.
      return socket;
    },
    [Symbol.dispose]: () => undefined,
  };
}

/** A place of a lab: reachable by its IPv4 address, and from this process through a door. */
export function inNamespace(namespace: Namespace, port: number): Place {
  const address = namespace.address();
  const door = new Door(namespace);
  return {
    address,
    port,
    spawn: (argv) => namespace.spawn([...WITH_PARENT, ...argv]),
    connect: () => door.connect(address, port),
    [Symbol.dispose]: () => door.close(),
  };
}

/**
 * Opens TCP connections inside a namespace for a process outside: a program in there (door.ts) connects, and
 * hands the socket over. There is no relay in between: what the peer does to the connection is what is seen.
 */
class Door {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<Socket>>();
  #last = 0;

  constructor(namespace: Namespace) {
    const program = `${import.meta.dirname}/door.ts`;
    const argv = [...namespace.within, process.execPath, program];
    this.#child = spawn("env", argv, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    this.#child.on("message", (answer: { id: number; error?: string }, socket: unknown) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (socket instanceof Socket) waiting?.resolve(socket);
      else waiting?.reject(new Error(answer.error ?? "the connection ended as it was handed over"));
    });
    this.#child.on("exit", () => this.#failAll());
    this.#child.on("error", () => this.#failAll());
  }

  connect(host: string, port: number): Promise<Socket> {
    const id = ++this.#last;
    const waiting = Promise.withResolvers<Socket>();
    this.#waiting.set(id, waiting);
    this.#child.send({ id, host, port }, (error) => {
      if (error !== null) waiting.reject(error);
    });
    return waiting.promise;
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  #failAll(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error("the door is closed"));
    this.#waiting.clear();
  }
}

/**
 * A port that nobody listens on. Below 32768, where the kernel takes ports for outgoing connections: it has to be
 * free still when the API server comes back.
 */
async function freePort(address: string): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer().listen(port, address);
    const free = await once(server, "listening").then(Boolean, () => false);
    await new Promise<void>((resolve) => server.close(() => resolve()));
    if (free) return port;
  }
}
