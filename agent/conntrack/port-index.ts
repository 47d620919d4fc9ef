import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { ProgrammedPort } from "./programmed-port.ts";

/** A VIP (`Address.hex`), protocol and port as one text. */
export function destinationOf(vip: string, protocol: Protocol, port: number): string {
  return `${vip} ${protocol} ${port}`;
}

/** The VIP of such a text. */
export function vipOf(destination: string): string {
  return destination.slice(0, destination.indexOf(" "));
}

/** The destinations of a port: one per VIP. */
export function destinationsOf({ vips, protocol, port }: ProgrammedPort): string[] {
  return vips.map((vip) => destinationOf(vip, protocol, port));
}

/** Programmed ports by import and by destination. */
export class PortIndex {
  readonly #byImport = new Map<ObjectKey, readonly ProgrammedPort[]>();
  readonly #byDestination = new Map<string, ProgrammedPort>();

  /** Replaces the ports of one import. An import without ports stays in `imports` until `drop`. */
  set(key: ObjectKey, ports: readonly ProgrammedPort[]): void {
    for (const port of this.of(key)) {
      for (const destination of destinationsOf(port)) {
        // The VIP may have moved to another import, which was set before this one.
        if (this.at(destination) === port) this.#byDestination.delete(destination);
      }
    }
    this.#byImport.set(key, ports);
    for (const port of ports) {
      for (const destination of destinationsOf(port)) this.#byDestination.set(destination, port);
    }
  }

  /** Forgets an import that has no ports. */
  drop(key: ObjectKey): void {
    if (this.of(key).length === 0) this.#byImport.delete(key);
  }

  get imports(): Iterable<readonly [ObjectKey, readonly ProgrammedPort[]]> {
    return this.#byImport;
  }

  get destinations(): Iterable<string> {
    return this.#byDestination.keys();
  }

  of(key: ObjectKey): readonly ProgrammedPort[] {
    return this.#byImport.get(key) ?? [];
  }

  at(destination: string): ProgrammedPort | undefined {
    return this.#byDestination.get(destination);
  }
}
