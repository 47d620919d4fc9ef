import type { Answered, Overdue } from "./evidence.ts";
import { keepUntil } from "./examinations.ts";
import { endpointName, pairName } from "./verdict.ts";
import { type Group, groupsByMember } from "./watched-endpoints.ts";

/** Milliseconds after which the answer to a client is not under way any more. Where answers were late, three SYNs have the time for it. */
const UNDER_WAY_MS = { usual: 1_250, lossy: 3_250 };
/** Milliseconds for which a client that was not answered, while another one was, counts as rejected. */
const REJECTED_MS = 600_000;

/** A client that waits for an endpoint. */
interface Waiting {
  readonly client: string;
  /** Name of the endpoint. */
  readonly name: string;
  readonly since: number;
  /** The groups of an endpoint that is late. */
  readonly groups: readonly Group[];
}

/** Clients that were waiting at a check, and what was answered meanwhile. */
export interface WaitingPicture {
  readonly overdue: readonly Overdue[];
  readonly answered: readonly Answered[];
  readonly groups: readonly Group[];
  readonly isLossy: (group: Group) => boolean;
  readonly now: number;
}

/**
 * Since when clients wait for an endpoint that answers nobody, and which of them a policy rejects. The kernel shows which clients an endpoint owes an answer, but not since
 * when each of them. A SYN whose answer is still under way says nothing: together with the repeated SYNs of a pod that a policy rejects, it would look like a dead
 * endpoint. Nor do those SYNs themselves, when an outage is over and nobody else has called yet.
 */
export class WaitingClients {
  #waiting: ReadonlyMap<string, Waiting> = new Map();
  /** By group, and by group and client, until when it counts as rejecting or rejected. */
  readonly #rejected = new Map<string, number>();

  /** True if answers of the next check matter. */
  get any(): boolean {
    return this.#waiting.values().some(({ groups }) => groups.length > 0);
  }

  /** The clients of a check. */
  observe({ overdue, answered, groups, isLossy, now }: WaitingPicture): void {
    const before = this.#waiting;
    const answers = Map.groupBy(answered, endpointName);
    for (const one of before.values())
      for (const group of one.groups) {
        const least = underWay(isLossy(group));
        const later = (answers.get(one.name) ?? []).filter(({ age }) => now - age > one.since);
        const isWaiting = !later.some(({ client }) => client === one.client);
        if (isWaiting && later.some(({ age }) => now - age >= one.since + least))
          for (const client of [one.client, undefined])
            keepUntil(this.#rejected, nameIn(group, client), now + REJECTED_MS);
      }
    const waiting = new Map<string, Waiting>();
    const listing = groupsByMember(overdue, groups);
    for (const one of overdue) {
      const name = endpointName(one);
      for (const client of one.clients) {
        const pair = pairName({ ...one, client });
        // All SYNs are those of an only client.
        const first = one.clients.length === 1 ? now - one.age : now;
        // An answer to anybody begins anew.
        const since = Math.max(before.get(pair)?.since ?? first, now - one.age);
        waiting.set(pair, { client, name, since, groups: listing.get(name) ?? [] });
      }
    }
    this.#waiting = waiting;
  }

  /** True if this client has waited for so long that no answer to it is under way. */
  hasWaited(one: Overdue, client: string, isLossy: boolean, now: number): boolean {
    const waiting = this.#waiting.get(pairName({ ...one, client }));
    return waiting !== undefined && now - waiting.since >= underWay(isLossy);
  }

  /** When this client, or any, was last found waiting for an endpoint of the group that had answered another one; -Infinity if it was not. */
  rejectedAt(group: Group, client: string | undefined, now: number): number {
    const until = this.#rejected.get(nameIn(group, client)) ?? now;
    return until > now ? until - REJECTED_MS : Number.NEGATIVE_INFINITY;
  }
}

function underWay(isLossy: boolean): number {
  return isLossy ? UNDER_WAY_MS.lossy : UNDER_WAY_MS.usual;
}

/** The name of a client of a group, or of any. */
function nameIn({ name }: Group, client = ""): string {
  return `${name} ${client}`;
}
