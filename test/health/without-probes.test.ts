import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type History, play } from "./history.ts";

const GUIDE = new URL("../../docs/guides/connections.md", import.meta.url);
const ALL_SEEDS = Array.from({ length: 12 }, (_, i) => i + 1);
/** Columns of the guide's table: how often clients call, and the seeds, fewer where each shows many connections. */
const PACES = {
  "20 calls a second": {
    calls: ["a", "b", "c", "d"].map((client) => `${client} web 0.2`),
    seeds: [1, 5, 9],
  },
  "a call a second": { calls: ["a web 1"], seeds: ALL_SEEDS },
  "a call every 3 s": { calls: ["a web 3"], seeds: ALL_SEEDS },
};
/** The patience of clients, in milliseconds: five seconds, and the eight of the guide's promise. */
const SLOW = 5_000;
const LOST = 8_000;

/** What dies: endpoints, and which of them. */
type Death = Pick<History, "serves"> & { readonly dead: readonly string[] };

const CLUSTER: Death = { serves: { web: { c2: 2, c3: 2 } }, dead: ["c2"] };
const MOST = replicas(2, 3, {});
const UPLINK: Death = { serves: { web: { c1: 2, c2: 2, c3: 2 } }, dead: ["c2", "c3"] };
function replicas(dead: number, all: number, others: Readonly<Record<string, number>>): Death {
  const places = Array.from({ length: dead }, (_, i) => `web@c2/${i + 1}`);
  return { serves: { web: { c2: all, ...others } }, dead: places };
}
const ELSEWHERE = { c3: 2 };

/** A row of the guide's table: connections that take longer than `patience`, of those that begin in some seconds after a death. */
interface Figure {
  readonly deaths: readonly Death[];
  readonly from: number;
  readonly until: number;
  readonly patience: number;
}

const FIGURES: Readonly<Record<string, Figure>> = {
  "a cluster dies, another one answers: took more than 5 s in the first 30 s": {
    ...{ deaths: [CLUSTER], from: 0, until: 30, patience: SLOW },
  },
  "the same: lost": { deaths: [CLUSTER], from: 0, until: 30, patience: LOST },
  "1 of 2, 2 of 3 or 3 of 5 replicas die, another cluster answers: lost in the first 60 s": {
    deaths: [replicas(1, 2, ELSEWHERE), replicas(2, 3, ELSEWHERE), replicas(3, 5, ELSEWHERE)],
    ...{ from: 0, until: 60, patience: LOST },
  },
  "the uplink of three clusters fails, own endpoints answer: lost in the first 30 s": {
    ...{ deaths: [UPLINK], from: 0, until: 30, patience: LOST },
  },
  "1 of 2 replicas dies, no other cluster has an endpoint: lost in the first 60 s": {
    ...{ deaths: [replicas(1, 2, {})], from: 0, until: 60, patience: LOST },
  },
  "2 of 3 replicas die, no other cluster has an endpoint: lost in the first 60 s": {
    ...{ deaths: [MOST], from: 0, until: 60, patience: LOST },
  },
  "the same: took more than 5 s in the first 60 s": {
    ...{ deaths: [MOST], from: 0, until: 60, patience: SLOW },
  },
  "the same: took more than 5 s in the four minutes after that": {
    ...{ deaths: [MOST], from: 60, until: 300, patience: SLOW },
  },
  "3 of 5 replicas die, no other cluster has an endpoint: lost in the first 60 s": {
    ...{ deaths: [replicas(3, 5, {})], from: 0, until: 60, patience: LOST },
  },
};

interface Connected {
  /** Seconds after the death. */
  readonly at: number;
  /** Milliseconds; Infinity: never. */
  readonly took: number;
}

async function playDeath(
  death: Death,
  calls: readonly string[],
  seed: number,
): Promise<Connected[]> {
  // Between two calls, at another moment with each seed.
  const at = 60 + seed / ALL_SEEDS.length;
  const figures = Object.values(FIGURES).filter(({ deaths }) => deaths.includes(death));
  const end = at + Math.max(...figures.map(({ until }) => until));
  const history: History = {
    name: "without probes",
    serves: death.serves,
    fact: { selectors: [] },
    calls,
    drops: ["0- node>*", ...death.dead.map((place) => `${at}- *>${place}`)],
    // Until then.
    probes: [`0-${end} 0 ${Number.MAX_SAFE_INTEGER}`],
    mayLose: ["a", "b", "c", "d"],
  };
  const connections = await play(history, seed, "IPv4");
  return connections.map(({ begun, established = Number.POSITIVE_INFINITY }) => ({
    at: begun / 1_000 - at,
    took: established - begun,
  }));
}

test("without probes, as many connections are slow and lost as the guide says", async () => {
  const played = new Map<string, Connected[]>();
  for (const death of new Set(Object.values(FIGURES).flatMap(({ deaths }) => deaths))) {
    for (const [pace, { calls, seeds }] of Object.entries(PACES)) {
      const all = await Promise.all(seeds.map((seed) => playDeath(death, calls, seed)));
      played.set(JSON.stringify({ death, pace }), all.flat());
    }
  }
  const cellOf = ({ deaths, from, until, patience }: Figure, pace: string): string => {
    const counted = deaths
      .flatMap((death) => played.get(JSON.stringify({ death, pace })) ?? [])
      .filter(({ at }) => at >= from && at < until);
    const slow = counted.filter(({ took }) => took > patience).length;
    const all = counted.length.toLocaleString("en-US");
    if (slow === 0) return `none of ${all}`;
    return `${Number(((100 * slow) / counted.length).toPrecision(2))} % (${slow} of ${all})`;
  };
  const paces = Object.keys(PACES);
  const rows = Object.entries(FIGURES).map(([title, figure]) => [
    title,
    ...paces.map((pace) => cellOf(figure, pace)),
  ]);
  const table = [["Without probes", ...paces], ["---", "---", "---", "---"], ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
  assert.ok(readFileSync(GUIDE, "utf8").includes(table), `the guide's table is not\n${table}`);
});
