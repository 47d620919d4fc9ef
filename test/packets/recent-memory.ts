import type { RecentMatch } from "../doubles/iptables/rule.ts";

/** What xt_recent remembers, by list: each source with the seconds since it was last seen. */
export type Lists = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** The memory of xt_recent at one moment; never changed in place. */
export class RecentMemory {
  readonly lists: Lists;

  constructor(lists: Lists = {}) {
    this.lists = lists;
  }

  /** What is in /proc/net/xt_recent so many seconds later. */
  after(seconds: number): RecentMemory {
    const older = (list: Readonly<Record<string, number>>) =>
      Object.fromEntries(Object.entries(list).map(([source, age]) => [source, age + seconds]));
    return new RecentMemory(mapValues(this.lists, older));
  }

  /** Asks one match (xt_recent.c, recent_mt): whether it matches, and what is remembered afterwards. */
  ask(match: RecentMatch, source: string): { matched: boolean; memory: RecentMemory } {
    const { [match.list]: list = {} } = this.lists;
    const age = list[source];
    if (match.action === "set") return { matched: true, memory: this.#seen(match.list, source) };
    if (age === undefined) return { matched: false, memory: this };
    const matched = match.seconds === undefined || age <= match.seconds;
    if (matched) return { matched, memory: this.#seen(match.list, source) };
    return { matched, memory: match.reap ? this.#reap(match) : this };
  }

  #seen(name: string, source: string): RecentMemory {
    return new RecentMemory({ ...this.lists, [name]: { ...this.lists[name], [source]: 0 } });
  }

  /** The kernel forgets the source that was seen longest ago, if that is too long ago. */
  #reap({ list: name, seconds = 0 }: RecentMatch): RecentMemory {
    const entries = Object.entries(this.lists[name] ?? {}).sort(([, a], [, b]) => b - a);
    const [oldest, ...rest] = entries;
    if (oldest === undefined || oldest[1] <= seconds) return this;
    return new RecentMemory({ ...this.lists, [name]: Object.fromEntries(rest) });
  }
}

function mapValues<A, B>(
  record: Readonly<Record<string, A>>,
  map: (value: A) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
