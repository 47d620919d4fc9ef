import type { Family } from "../../api/address.ts";
import { joint } from "../merge/port-names.ts";
import type { ServicePort, SliceFact } from "../model/facts.ts";

/** What the Service's own slices list, those of other programs included. */
export class LocalEndpoints {
  /** Ready or not. */
  readonly addresses: ReadonlySet<string>;
  /** Families and ports that have a ready endpoint. */
  readonly #ready: ReadonlySet<string>;
  /** Those that have one that terminates and still serves. */
  readonly #servingTerminating: ReadonlySet<string>;

  constructor(slices: readonly SliceFact[]) {
    const endpoints = slices.flatMap((slice) => slice.endpoints);
    this.addresses = new Set(endpoints.map(({ address }) => address));
    this.#ready = portsWith(slices, ({ ready }) => ready);
    this.#servingTerminating = portsWith(slices, (one) => one.serving && one.terminating);
  }

  /** True if a proxy uses terminating endpoints for some of these ports, and ready ones for none. */
  areTerminating(family: Family, ports: readonly ServicePort[]): boolean {
    const keys = ports.map((port) => portKey(family, port));
    return (
      !keys.some((key) => this.#ready.has(key)) &&
      keys.some((key) => this.#servingTerminating.has(key))
    );
  }
}

function portsWith(
  slices: readonly SliceFact[],
  condition: (endpoint: SliceFact["endpoints"][number]) => boolean,
): ReadonlySet<string> {
  const having = slices.filter(({ endpoints }) => endpoints.some(condition));
  return new Set(having.flatMap(({ family, ports }) => ports.map((port) => portKey(family, port))));
}

/** A proxy balances each family and port, by name and protocol, by itself. */
export function portKey(family: Family, port: ServicePort): string {
  return `${family} ${joint(port)}`;
}
