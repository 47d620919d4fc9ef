import type { Family } from "../../api/address.ts";
import { joint } from "../import/imported-slices.ts";
import type { EndpointFact, ServicePort, SliceFact } from "../model/facts.ts";

/** What the Service's own slices list, of this cluster and of other programs. */
export class LocalEndpoints {
  readonly #slices: readonly SliceFact[];
  /** Ready or not. */
  readonly addresses: ReadonlySet<string>;

  constructor(slices: readonly SliceFact[]) {
    this.#slices = slices;
    const endpoints = slices.flatMap((slice) => slice.endpoints);
    this.addresses = new Set(endpoints.map(({ address }) => address));
  }

  /** True if a proxy uses terminating endpoints for each of these ports: some still serve, and none is ready. */
  areTerminating(family: Family, ports: readonly ServicePort[]): boolean {
    return ports.every((port) => {
      const endpoints = this.#endpointsOf(family, joint(port));
      const isReady = endpoints.some(({ ready }) => ready);
      return !isReady && endpoints.some(({ serving, terminating }) => serving && terminating);
    });
  }

  #endpointsOf(family: Family, port: string): readonly EndpointFact[] {
    return this.#slices
      .filter((slice) => slice.family === family && slice.ports.some((one) => joint(one) === port))
      .flatMap(({ endpoints }) => endpoints);
  }
}
