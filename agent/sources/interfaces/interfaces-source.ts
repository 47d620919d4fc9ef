import { isDeepStrictEqual } from "node:util";
import type { Cancel, Clock } from "../../../common/clock.ts";
import type { Logger } from "../../../common/log.ts";
import type { Source, SourceEvents } from "../source.ts";

/** Milliseconds between two looks. What depends on it is only which VIPs chosen by hand are refused. */
export const LOOK_MS = 60_000;
/** Milliseconds until the next look after one that failed. */
export const AGAIN_MS = 1000;

/** What an `InterfacesSource` is made of. */
export interface InterfacesOptions {
  /**
   * The addresses of this network namespace's interfaces, as the kernel spells them, in any order. May throw: a
   * process that is out of file descriptors cannot ask.
   */
  readonly read: () => readonly string[];
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn" | "info">;
}

/** The addresses of the node's own interfaces, which come and go while the agent runs. */
export class InterfacesSource implements Source {
  readonly name = "interfaces";
  readonly #options: InterfacesOptions;
  #told: readonly string[] | undefined;
  #failing = false;
  #cancel: Cancel | undefined;

  constructor(options: InterfacesOptions) {
    this.#options = options;
  }

  start(events: SourceEvents): void {
    this.#cancel = this.#options.clock.after(0, () => this.#look(events));
  }

  async stop(): Promise<void> {
    this.#cancel?.();
  }

  #look(events: SourceEvents): void {
    const { clock } = this.#options;
    const addresses = this.#read();
    this.#cancel = clock.after(this.#failing ? AGAIN_MS : LOOK_MS, () => this.#look(events));
    if (addresses === undefined || isDeepStrictEqual(addresses, this.#told)) return;
    const first = this.#told === undefined;
    this.#told = addresses;
    events.addressesChanged(addresses, clock.now());
    if (first) events.listed();
  }

  #read(): string[] | undefined {
    const { read, log } = this.#options;
    try {
      const addresses = [...read()].sort();
      if (this.#failing) log.info("The addresses of the node can be read again.");
      this.#failing = false;
      return addresses;
    } catch (error) {
      if (!this.#failing) log.warn("The addresses of the node cannot be read.", { error });
      this.#failing = true;
      return undefined;
    }
  }
}
