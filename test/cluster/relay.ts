import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Place } from "../apiserver/place.ts";

/**
 * A port of the machine's loopback that leads to an API server in a lab: for kubectl, and whoever else is not in there. Bytes are
 * passed on as they come; when one side of a connection ends, so does the other.
 */
export class Relay implements Disposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(place: Place) {
    this.#server = createServer((client) => {
      this.#keep(client);
      place.connect().then(
        (server) => {
          this.#keep(server);
          join(client, server);
        },
        () => client.destroy(),
      );
    });
  }

  /** Listens at a port that is free. */
  static async open(place: Place): Promise<Relay> {
    const relay = new Relay(place);
    await once(relay.#server.listen(0, "127.0.0.1"), "listening");
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  [Symbol.dispose](): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    // Who is at the other end sees it: the connection is gone.
    socket.on("error", () => undefined);
  }
}

function join(a: Socket, b: Socket): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.pipe(to);
    from.once("error", () => to.destroy());
    from.once("close", () => to.destroySoon());
  }
}
