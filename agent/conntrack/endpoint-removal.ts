import type { ScanScope } from "./scan-scope.ts";

/**
 * Endpoints that one change removed. They may still answer a SYN that was sent to them just before, so entries to them
 * do not count as unanswered until the removal expires.
 */
export interface EndpointRemoval {
  /** What to scan once it has expired. */
  readonly scope: ScanScope;
  /** `ProgrammedPort.endpoints` before the change, by destination; absent: not known, any endpoint may answer. */
  readonly endpoints?: ReadonlyMap<string, string>;
}

/** Removals that have not expired yet. */
export class PendingRemovals {
  readonly #pending = new Set<EndpointRemoval>();

  add(removal: EndpointRemoval): void {
    this.#pending.add(removal);
  }

  expire(removal: EndpointRemoval): void {
    this.#pending.delete(removal);
  }

  /** Endpoint lists that may still answer for a destination; undefined if any endpoint may. */
  endpointsOf(destination: string): readonly string[] | undefined {
    const lists: string[] = [];
    for (const { endpoints } of this.#pending) {
      if (endpoints === undefined) return undefined;
      const list = endpoints.get(destination);
      if (list !== undefined) lists.push(list);
    }
    return lists;
  }
}
