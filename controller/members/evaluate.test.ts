import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ClusterFact } from "../model/facts.ts";
import { evaluate, type MemberState, type Own, type Seen } from "./evaluate.ts";
import { DURATION_SECONDS } from "./lease-expiry.ts";

/** What happens to the member c2, or to the local cluster. */
interface Happening {
  /** Its Lease is renewed, with this content. */
  readonly renewed?: Partial<ClusterFact>;
  /** The same, without a renewal. */
  readonly stated?: Partial<ClusterFact>;
  readonly seen?: Partial<Seen>;
  readonly own?: Partial<Own>;
  /** This process stands still for so many seconds. */
  readonly pause?: number;
  /** The time of day is set forward by so many seconds. */
  readonly setForward?: number;
}

interface History {
  /** What happens, by the second in which it does. */
  readonly steps: Readonly<Record<number, Happening>>;
  /** Its Lease is renewed every so many seconds, besides. */
  readonly renewsEvery?: number;
  /** The part of the state that matters. */
  readonly shows: (state: MemberState) => unknown;
  /** Each value of it, after the second from which on it is. */
  readonly tells: string;
}

const START = Date.UTC(2026, 10, 24);
const LEASE: Omit<ClusterFact, "renewal"> = {
  ...{ id: "c2", uid: "u2", properties: {}, leaseSeconds: 10, completeExcept: new Set() },
};
const NOTHING_SEEN: Seen = {
  ...{ id: "c2", isOurs: false, isListed: true, isWatched: true, rewinds: 0, drains: [] },
  recorded: { state: "alive" },
};
const OWN: Own = {
  ...{ identity: { id: "c1", clusterSet: "ours" }, uid: "u1", description: { properties: {} } },
  ...{ isComplete: true, isLeader: true, windows: { drainWindow: 600, returnWindow: 30 } },
};

/** What a history shows; `isEager`: if the member is evaluated each second, not only when it may have changed by itself. */
function play({ renewsEvery, shows, steps }: Omit<History, "tells">, isEager = false): string {
  let [seen, own, second, ahead, renewal] = [NOTHING_SEEN, OWN, 0, 0, ""];
  let last: MemberState | undefined;
  const told: string[] = [];
  const today = () => START + (second + ahead) * 1000;
  const look = (check?: "in-time" | "late"): void => {
    const now = { now: second * 1000, today: today(), check };
    last = evaluate(last, seen, own, now);
    const text = String(shows(last));
    if (told.at(-1)?.replace(/^\d+ /, "") !== text) told.push(`${second} ${text}`);
  };
  const happen = ({ renewed, stated = renewed, pause = 0, ...more }: Happening): void => {
    if (renewed !== undefined) renewal = new Date(today()).toISOString();
    const cluster = stated && { ...LEASE, renewal, ...stated };
    seen = { ...seen, ...(cluster && { cluster, claim: cluster }), ...more.seen };
    own = { ...own, ...more.own };
    second += pause;
    ahead += more.setForward ?? 0;
    look(pause > 0 ? "late" : undefined);
  };
  const rest = Object.entries({ 0: {}, ...steps }).map(([at, what]) => ({ at: Number(at), what }));
  for (; rest.length > 0; second++) {
    if (last !== undefined && (isEager || last.until <= second * 1000)) look("in-time");
    while (rest[0] !== undefined && rest[0].at <= second) happen(rest.shift()?.what ?? {});
    if (renewsEvery !== undefined && second % renewsEvery === 0) happen({ renewed: {} });
  }
  return told.join(" | ");
}

const renewed = (more: Partial<ClusterFact> = {}): Happening => ({ renewed: more });
const stated = (more: Partial<ClusterFact>): Happening => ({ stated: more });
/** A Lease that is renewed so often, every so many seconds. */
const series = (from: number, every: number, count: number, more: Partial<ClusterFact> = {}) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [from + i * every, renewed(more)]));
const except = (...names: readonly string[]) => renewed({ completeExcept: new Set(names) });
const unmarked = { completeExcept: undefined };
/** What happens each second. */
const each = (what: (i: number) => Happening) =>
  Object.fromEntries(Array.from({ length: 65 }, (_, i) => [i, what(i)]));
/** A Lease that states something else each second. */
const flickering = (more: (i: number) => Partial<ClusterFact>) => each((i) => renewed(more(i)));
const watched = (isWatched: boolean): Happening => ({ seen: { isWatched } });
const span = (from: number, until: number, by: string) => ({
  ...{ from: START + from * 1000, until: START + until * 1000 },
  by,
});
type Span = Parameters<typeof span>;
/** Drains by operators here. */
const drained = (...spans: readonly Span[]): Happening => ({
  seen: { drains: spans.map((one) => ({ ...span(...one), where: `Secret ${one[2]}` })) },
});
const recorded = (record: Seen["recorded"]): Happening => ({ seen: { recorded: record } });
const incomplete = { isComplete: false };
const returning = { direction: "returning", from: START, length: 30_000 } as const;

const life = ({ lease: { status } }: MemberState) => `${status.state}: ${status.reason}`;
const synced = ({ confirmation, isRead, isSynced }: MemberState) =>
  [confirmation.isGiven && "confirmed", isSynced && "synced", isRead && "read"]
    .filter(Boolean)
    .join();
const region = ({ description }: MemberState) => description.current?.region;
const drain = ({ drain }: MemberState) => (drain ? `${drain.by} on ${drain.where}` : "none");
const rotation = ({ rotation: { current } }: MemberState) => {
  const { direction, from = 0, length = 0 } = current.shift ?? {};
  const window = `, ${direction} ${length / 1000} s from ${(from - START) / 1000}`;
  return `${current.state}${direction === undefined ? "" : window}`;
};

const HISTORIES: Readonly<Record<string, History>> = {
  "a cluster is stale one Lease duration after its last renewal, and alive with the next one": {
    steps: { 0: renewed(), 5: renewed(), 20: renewed() },
    shows: life,
    tells: "0 alive: awaited | 5 alive: renewing | 15 stale: lease-silent | 20 alive: renewing",
  },
  "a Lease expires also while a change of the description waits": {
    steps: { 0: stated({ region: "eu" }), 1: stated({ region: "us" }), 3: renewed(), 20: {} },
    shows: life,
    tells: "0 alive: awaited | 3 alive: renewing | 13 stale: lease-silent",
  },
  "a cluster without a Lease has the default duration": {
    steps: { 60: {} },
    shows: life,
    tells: "0 alive: awaited | 30 stale: never-renewed",
  },
  "a stale cluster returns with a Lease that is marked complete, not with others": {
    steps: { ...series(0, 1, 2), ...series(12, 2, 4, unmarked), 20: renewed(), 22: renewed() },
    shows: life,
    tells: "0 alive: awaited | 1 alive: renewing | 11 stale: lease-silent | 22 alive: renewing",
  },
  "a stale cluster returns after a whole duration of renewals without the mark": {
    steps: { ...series(0, 1, 2), ...series(12, 3, 5, unmarked) },
    shows: life,
    tells: "0 alive: awaited | 1 alive: renewing | 11 stale: lease-silent | 24 alive: renewing",
  },
  "a live cluster stays alive without the mark": {
    steps: series(0, 9, 4, unmarked),
    shows: life,
    tells: "0 alive: awaited | 9 alive: renewing",
  },
  "a stale cluster whose renewals are late, each, stays stale": {
    steps: { ...series(0, 1, 2), ...series(12, 11, 5, unmarked) },
    shows: life,
    tells: "0 alive: awaited | 1 alive: renewing | 11 stale: lease-silent",
  },
  "a cluster that was stale before a start stays stale until it renews": {
    steps: { 0: { ...recorded({ state: "stale" }), renewed: {} }, 60: renewed() },
    shows: life,
    tells: "0 stale: never-renewed | 60 alive: renewing",
  },
  "a Lease of another holder is a renewal": {
    steps: { 0: renewed(), 5: stated({ uid: "rebuilt" }) },
    shows: (state) => `${life(state)} ${state.uid}`,
    tells: "0 alive: awaited u2 | 5 alive: renewing rebuilt",
  },
  "a cluster is silent after its duration, also one that was stale before, until it renews": {
    steps: { 0: recorded({ state: "stale" }), 40: renewed() },
    shows: ({ lease }) => lease.isSilent,
    tells: "0 false | 30 true | 40 false",
  },
  "after a pause of this process a Lease has its duration again, and an expired one stays so": {
    steps: { ...series(0, 1, 9), 9: { pause: 3600 }, 3630: { pause: 3600 } },
    shows: life,
    tells: "0 alive: awaited | 1 alive: renewing | 3619 stale: lease-silent",
  },
  "at a start a listed mark confirms absence once everything is watched": {
    steps: { 0: { renewed: {}, ...watched(false) }, 1: watched(true) },
    shows: synced,
    tells: "0 read | 1 confirmed,synced,read",
  },
  "at a start a listed mark as old as the Lease's duration confirms nothing, nor does the first renewal":
    {
      steps: {
        0: { ...stated({ renewal: new Date(START - 9_000).toISOString() }), ...watched(false) },
        ...{ 1: watched(true), 2: {}, ...series(60, 2, 2) },
      },
      shows: synced,
      tells: "0 read | 62 confirmed,synced,read",
    },
  "without a Lease, or without its mark, absence is unconfirmed": {
    steps: { 1: renewed(unmarked), ...series(2, 2, 2), 5: stated(unmarked), 6: stated({}) },
    shows: synced,
    tells: "0  | 1 read | 4 confirmed,synced,read | 5 synced,read",
  },
  "after a lost connection it takes two marked renewals, some time apart, not a list": {
    steps: { 0: renewed(), 1: watched(false), 2: renewed(), 3: watched(true), ...series(9, 1, 3) },
    shows: synced,
    tells: "0 confirmed,synced,read | 1 synced,read | 11 confirmed,synced,read",
  },
  "a mark that was removed counts again with the second renewal": {
    steps: { 0: renewed(), 2: renewed(unmarked), ...series(4, 2, 3) },
    shows: synced,
    tells: "0 confirmed,synced,read | 2 synced,read | 6 confirmed,synced,read",
  },
  "exceptions of a mark are unconfirmed, and known once they were confirmed": {
    steps: { 0: except("a/b"), 2: except("a/b", "c"), 4: except("c") },
    shows: ({ confirmation: { except, neverFor } }) =>
      `${[...except].join()} never ${[...neverFor].join()}`,
    tells: "0 a/b never a/b | 2 a/b,c never a/b | 4 c never ",
  },
  "trust that changes all the time returns once in 30 s, and ends at once": {
    steps: flickering((i) => ({ clusterSet: i % 2 === 0 ? "ours" : "other" })),
    shows: ({ verdict }) => verdict.records,
    tells: "0 use | 1 drop | 31 use | 31 drop | 61 use | 61 drop",
  },
  "ranges that change all the time apply once in 30 s": {
    steps: flickering((i) => ({ accepts: { c1: `10.${i}.0.0/16` } })),
    shows: ({ accepts }) => accepts?.ranges,
    tells: "0 10.0.0.0/16 | 1 10.1.0.0/16 | 31 10.30.0.0/16 | 61 10.60.0.0/16",
  },
  "exceptions that end one after the other end once in 30 s": {
    steps: each((i) => except(...Array.from({ length: 90 - i }, (_, n) => `n${n}`))),
    shows: ({ confirmation }) => confirmation.neverFor.size,
    tells: "0 90 | 2 88 | 32 58 | 62 28",
  },
  "records of a rewound API server are not used until the Lease is marked complete again": {
    steps: {
      0: renewed(),
      1: { seen: { isWatched: false, rewinds: 1 } },
      2: stated({ renewal: "an earlier one" }),
      3: watched(true),
      ...series(5, 2, 3),
    },
    shows: synced,
    tells: "0 confirmed,synced,read | 1  | 7 confirmed,synced,read",
  },
  "an API server that is rewound again and again is read again at once, then once in 30 s": {
    steps: each((i) => ({ ...renewed(), seen: { rewinds: i >> 2 } })),
    shows: ({ isRead }) => isRead,
    tells: "0 true | 4 false | 7 true | 8 false | 39 true | 40 false",
  },
  "a region that changes all the time applies once in 30 s, with its last value": {
    steps: flickering((i) => ({ region: `r${i}` })),
    shows: region,
    tells: "0 r0 | 1 r1 | 31 r30 | 61 r60",
  },
  "a region that is back before it was applied changes nothing": {
    steps: {
      ...{ 0: stated({ region: "eu" }), 1: stated({ region: "us" }) },
      ...{ 2: stated({ region: "eu" }), 3: stated({ region: "us" }), 90: {} },
    },
    shows: region,
    tells: "0 eu | 1 us",
  },
  "each first statement applies at once, a repeated one 30 s after the last change": {
    steps: {
      0: stated({}),
      1: stated({ properties: { a: "1" } }),
      2: stated({ properties: { a: "1" }, region: "eu" }),
      3: stated({ region: "eu" }),
      4: stated({ properties: { a: "1" }, region: "eu" }),
      60: {},
    },
    shows: ({ description }) =>
      `${description.current?.properties.a} in ${description.current?.region}`,
    tells:
      "0 undefined in undefined | 1 1 in undefined | 2 1 in eu | 3 undefined in eu | 33 1 in eu",
  },
  "a drain begins and ends by itself": {
    steps: { 0: drained([60, 180, "ann"]), 200: {} },
    shows: drain,
    tells: "0 none | 60 ann on Secret ann | 180 none",
  },
  "of several drains the one in force that ends last counts": {
    steps: {
      0: drained([0, 120, "ann"], [0, 300, "bob"], [360, 540, "cyd"]),
      10: drained([0, 120, "ann"], [360, 540, "cyd"]),
      600: {},
    },
    shows: drain,
    tells:
      "0 bob on Secret bob | 10 ann on Secret ann | 120 none | 360 cyd on Secret cyd | 540 none",
  },
  "a clock that is set changes which drains are in force": {
    steps: { 0: drained([0, 60, "ann"]), 5: { setForward: 120 } },
    shows: drain,
    tells: "0 ann on Secret ann | 5 none",
  },
  "begin and end of the cluster's own drain wait for its last change, those of others do not": {
    steps: {
      0: renewed({ drain: span(0, 3, "peer") }),
      9: drained([0, 20, "ann"]),
      40: stated({ drain: span(0, 50, "peer") }),
      100: {},
    },
    shows: drain,
    tells:
      "0 peer on Lease of c2 | 9 ann on Secret ann | 20 none | 40 peer on Lease of c2 | 70 none",
  },
  "a drain that was recorded before a start counts until what may state it was read": {
    steps: {
      0: { ...recorded({ state: "drained", drain: span(0, 90, "ann") }), own: incomplete },
      5: { own: { isComplete: true } },
    },
    shows: drain,
    tells: "0 ann on ClusterProperty c2.rotation.clusterset-proxy.io | 5 none",
  },
  "nodes leave a drained cluster within the window, and return within another": {
    steps: { 0: drained([0, 900, "ann"]), 901: {} },
    renewsEvery: 5,
    shows: rotation,
    tells: "0 drained, draining 600 s from 0 | 900 alive, returning 30 s from 900",
  },
  "windows of 0 s need no shift": {
    steps: {
      0: { ...drained([1, 900, "ann"]), own: { windows: { drainWindow: 0, returnWindow: 0 } } },
      901: {},
    },
    renewsEvery: 5,
    shows: rotation,
    tells: "0 alive | 1 drained | 900 alive",
  },
  "a cluster that was stale for less than a minute returns at once": {
    steps: { ...series(0, 1, 2), 70: renewed() },
    shows: rotation,
    tells: "0 alive | 11 stale | 70 alive",
  },
  "a cluster that was stale for a minute returns node by node": {
    steps: { ...series(0, 1, 2), 71: renewed() },
    shows: rotation,
    tells: "0 alive | 11 stale | 71 alive, returning 30 s from 71",
  },
  "a drain that is taken back in its window ends at once": {
    steps: { 0: drained([1, 9000, "ann"]), 300: drained() },
    renewsEvery: 5,
    shows: rotation,
    tells: "0 alive | 1 drained, draining 600 s from 1 | 300 alive",
  },
  "a return that another drain interrupts ends at once": {
    steps: { 0: drained([0, 900, "ann"]), 920: drained([910, 9000, "bob"]) },
    renewsEvery: 5,
    shows: rotation,
    tells: "0 drained, draining 600 s from 0 | 900 alive, returning 30 s from 900 | 920 drained",
  },
  "a drained cluster that is stale has no window, and stays out until both end": {
    steps: { ...series(0, 1, 2), 2: drained([2, 80, "ann"]), ...series(15, 5, 20) },
    shows: rotation,
    tells:
      "0 alive | 2 drained, draining 600 s from 2 | 11 stale | 15 drained | 80 alive, returning 30 s from 80",
  },
  "the local cluster is not stale for itself, and its own drain waits for nothing": {
    steps: {
      0: { renewed: {}, seen: { isOurs: true } },
      40: { own: { description: { properties: {}, drain: span(0, 50, "me") } } },
      60: {},
    },
    shows: (state) => `${rotation(state)} ${drain(state)}`,
    tells:
      "0 alive none | 40 drained, draining 600 s from 0 me on ClusterProperty cluster.clusterset.k8s.io | 50 alive none",
  },
  "a standby takes the window that the leader recorded, unless it sees another state": {
    steps: {
      0: { own: { isLeader: false } },
      5: recorded({ state: "drained" }),
      6: recorded({ state: "alive", shift: returning }),
      7: { ...recorded({ state: "alive" }), own: { isLeader: true } },
      8: { own: { isLeader: false } },
    },
    renewsEvery: 5,
    shows: rotation,
    tells: "0 alive | 6 alive, returning 30 s from 0 | 8 alive",
  },
};

describe("a member", () => {
  for (const [name, history] of Object.entries(HISTORIES)) {
    test(name, () => {
      assert.equal(play(history), history.tells);
      assert.equal(play(history, true), history.tells, "evaluated each second");
    });
  }
});

test("after a start the recorded window stays, unless it is of the other direction or begins in the future", () => {
  const after = (change: object) => {
    const shift = { ...returning, ...change };
    return play({ steps: { 0: recorded({ state: "alive", shift }) }, shows: rotation });
  };
  assert.equal(after({}), "0 alive, returning 30 s from 0");
  assert.equal(after({ direction: "draining" }), "0 alive");
  assert.equal(after({ from: START + 3_600_000 }), "0 alive");
});

test("durations are bounded", () => {
  const { least, most } = DURATION_SECONDS;
  for (const [leaseSeconds, is] of [
    [0, least],
    [Number.MAX_VALUE, most],
    [60, 60],
  ] as const) {
    const steps = { 0: renewed({ leaseSeconds }), [is + 2]: {} };
    assert.equal(play({ steps, shows: life }), `0 alive: awaited | ${is} stale: never-renewed`);
  }
});
