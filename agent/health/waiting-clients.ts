import type { Overdue } from "./evidence.ts";
import { endpointName } from "./verdict.ts";

/** Milliseconds after which the answer to a client is not under way any more: longer than a round trip, shorter than a verdict may take. */
const WAITED_MS = 500;

/**
 * Since when clients wait for an endpoint that answers nobody. The kernel shows which clients an endpoint owes an answer, but not since when each of them. A SYN whose
 * answer is still under way says nothing: together with the repeated SYNs of a pod that a policy rejects, it would look like a dead endpoint.
 */
export class WaitingClients {
  #since: ReadonlyMap<string, number> = new Map();

  /** The clients of a check. */
  observe(overdue: readonly Overdue[], now: number): void {
    const before = this.#since;
    const since = new Map<string, number>();
    for (const one of overdue) {
      for (const client of one.clients) {
        const pair = pairOf(one, client);
        // An answer to anybody begins anew.
        since.set(pair, Math.max(before.get(pair) ?? now, now - one.age));
      }
    }
    this.#since = since;
  }

  /** True if an answer to this client would have arrived. */
  hasWaited(one: Overdue, client: string, now: number): boolean {
    return now - (this.#since.get(pairOf(one, client)) ?? now) >= WAITED_MS;
  }
}

function pairOf(one: Overdue, client: string): string {
  return `${endpointName(one)} ${client}`;
}
