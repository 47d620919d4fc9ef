import { type Answered, isLate, type Overdue } from "./evidence.ts";
import { endpointName, pairName } from "./verdict.ts";
import { type Group, groupsByMember } from "./watched-endpoints.ts";

/** Milliseconds for which a late answer counts. */
const KEPT_MS = 600_000;
/** Late answers in so many milliseconds that show a lossy path, each to a repeated SYN that a check has seen; those of one outage count once. */
const LOSSY = { answers: 2, ms: 60_000 };
/** Milliseconds within which late answers are of one outage. */
const OUTAGE_MS = 3_000;
/** Milliseconds after a SYN, about: TCP repeats it then (RFC 6298, 2.1), and an answer is to the repeated one. */
const REPEATED_MS = 950;

/** A client that waits for an endpoint's answer. */
interface Waiting {
  readonly paths: ReadonlySet<string>;
  readonly since: number;
  /** When it was last seen to wait. */
  readonly at: number;
  /** True if a repeated SYN was seen. */
  readonly isRepeated: boolean;
}

/** An answer, or several of one outage. */
type Late = Pick<Waiting, "at" | "isRepeated">;

/** Clients that were answered after their SYN was repeated: the path to a cluster loses packets. By namespace and cluster, because a tenant may repeat SYNs as it likes. */
export class LateAnswers {
  /** By endpoint and client. They are kept for a while: a verdict deletes their SYNs, and the answer may arrive all the same. */
  #waiting = new Map<string, Waiting>();
  readonly #late = new Map<string, readonly Late[]>();

  /** True if answers of the next check matter. */
  get any(): boolean {
    return this.#waiting.size > 0;
  }

  /** Compares with the last check. */
  observe(picture: {
    readonly overdue: readonly Overdue[];
    readonly answered: readonly Answered[];
    readonly groups: readonly Group[];
    readonly now: number;
    /** Milliseconds since the last check. */
    readonly passed: number;
  }): void {
    const { now, passed } = picture;
    const next = new Map<string, Waiting>();
    const late = picture.overdue.filter(isLate);
    const listing = groupsByMember(late, picture.groups);
    for (const one of late) {
      const paths = new Set(listing.get(endpointName(one))?.map(pathOf));
      // All SYNs are those of an only client.
      const first = one.clients.length === 1 ? now - one.age : now;
      for (const client of one.clients) {
        const pair = pairName({ ...one, client });
        const since = this.#waiting.get(pair)?.since ?? first;
        next.set(pair, { paths, since, at: now, isRepeated: one.repeats > 0 });
      }
    }
    for (const one of picture.answered) {
      const pair = pairName(one);
      if (next.has(pair) || one.age > passed) continue;
      const waiting = this.#waiting.get(pair);
      this.#waiting.delete(pair);
      if (waiting === undefined) continue;
      const { isRepeated, paths, since } = waiting;
      if (!isRepeated && now - one.age - since < REPEATED_MS) continue;
      for (const path of paths) this.#add(path, { at: now, isRepeated });
    }
    for (const [pair, one] of this.#waiting)
      if (now - one.at < OUTAGE_MS && !next.has(pair)) next.set(pair, one);
    for (const [path, all] of this.#late)
      if (all.every(({ at }) => now - at >= KEPT_MS)) this.#late.delete(path);
    this.#waiting = next;
  }

  /** True if so much is lost that several SYNs in a row may be. */
  isLossy(group: Group, now: number): boolean {
    const lately = this.#of(group).filter((one) => one.isRepeated && now - one.at < LOSSY.ms);
    return lately.length >= LOSSY.answers;
  }

  /** True if an answer was late in the last ten minutes: two SYNs in a row may be lost. */
  mayBeLate(group: Group, now: number): boolean {
    return this.#of(group).some(({ at }) => now - at < KEPT_MS);
  }

  #of(group: Group): readonly Late[] {
    return this.#late.get(pathOf(group)) ?? [];
  }

  #add(path: string, late: Late): void {
    const all = (this.#late.get(path) ?? []).filter(({ at }) => late.at - at < KEPT_MS);
    const last = all.at(-1);
    if (last === undefined || late.at - last.at >= OUTAGE_MS) all.push(late);
    else if (late.isRepeated) all.splice(-1, 1, { ...last, isRepeated: true });
    this.#late.set(path, all);
  }
}

function pathOf({ namespace, cluster }: Group): string {
  return `${namespace} ${cluster}`;
}
