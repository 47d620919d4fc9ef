import type { Overdue } from "./evidence.ts";
import { endpointName } from "./verdict.ts";

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
        // All SYNs are those of an only client.
        const first = one.clients.length === 1 ? now - one.age : now;
        // An answer to anybody begins anew.
        since.set(pair, Math.max(before.get(pair) ?? first, now - one.age));
      }
    }
    this.#since = since;
  }

  /** Milliseconds for which this client has waited. */
  waitedOf(one: Overdue, client: string, now: number): number {
    return now - (this.#since.get(pairOf(one, client)) ?? now);
  }
}

function pairOf(one: Overdue, client: string): string {
  return `${endpointName(one)} ${client}`;
}
