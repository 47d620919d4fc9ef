import type { Socket } from "node:net";

/**
 * The open connections of a server. Over the limit the oldest one is cut, not the new one refused: clients that hold
 * connections open must not keep a probe out, and a probe is over in milliseconds.
 */
export class HttpConnections {
  readonly #most: number;
  /** In order of arrival. */
  readonly #open = new Set<Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  add(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    const [oldest] = this.#open;
    if (this.#open.size > this.#most) oldest?.destroy();
  }
}

/** Counts pages that are being sent, in total and for each client address. */
export class PagesInFlight {
  readonly #most: number;
  readonly #mostOfOne: number;
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  /** Admits one more page for an address; undefined if there are too many, else what to call at its end. */
  begin(address: string): (() => void) | undefined {
    const own = this.#byAddress.get(address) ?? 0;
    if (this.#total >= this.#most || own >= this.#mostOfOne) return undefined;
    this.#total++;
    this.#byAddress.set(address, own + 1);
    return () => {
      this.#total--;
      const left = (this.#byAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#byAddress.delete(address);
      else this.#byAddress.set(address, left);
    };
  }
}
