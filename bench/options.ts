import { parseArgs } from "node:util";
import { BACKENDS, backendOf, type MeasuredBackend } from "./backends.ts";

/** What can be measured alone, in the order in which it is measured. */
export const PARTS = [
  "kernel",
  "packets",
  "api-server",
  "kube-proxy",
  "deaths",
  "source",
  "controller",
  "ipvs",
] as const;
/** Parts that take long. */
const LONG: readonly Part[] = ["deaths", "controller", "ipvs"];
/** One of `PARTS`. */
export type Part = (typeof PARTS)[number];

/** Endpoints of every service. */
export const ENDPOINTS = 10;

/** What the command line and the environment ask for. */
export interface Options {
  /** Numbers of services that are loaded, ascending; the first is 1. */
  readonly sizes: readonly number[];
  /** Fewer rounds, nothing larger than 1,000 without SIZE, and no part of `LONG` unless requested. */
  readonly quick: boolean;
  /** Put the tables into docs/BENCHMARKS.md. */
  readonly write: boolean;
  readonly parts: readonly Part[];
  /** What is measured beside each other. */
  readonly backends: readonly MeasuredBackend[];
  /** True if neither parts nor backends were chosen. */
  readonly whole: boolean;
}

/** How often a thing is done, so that all of it ends in time. */
export interface Effort {
  /** Cold syncs in one process. */
  readonly coldSyncs: number;
  /** Changes of one slice, each alone. */
  readonly changes: number;
  /** Times that three changes come in a second. */
  readonly series: number;
  /** Seconds of 100 changes a second. */
  readonly stormSeconds: number;
  /** Seconds of connections without a pause while endpoints are replaced. */
  readonly flipSeconds: number;
  /** Seconds in which nothing happens. */
  readonly idleSeconds: number;
}

/** Reads `SIZE`, `QUICK` and the arguments. Throws on what it does not understand. */
export function optionsOf(argv: readonly string[], env: NodeJS.ProcessEnv): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      write: { type: "boolean", default: false },
      part: { type: "string", multiple: true },
      backend: { type: "string", multiple: true },
    },
  });
  const quick = !["", "0", undefined].includes(env.QUICK);
  const most = sizeOf(env.SIZE || (quick ? "1000" : "10000"));
  return {
    sizes: [...[1, 1_000].filter((size) => size < most), most],
    quick,
    write: values.write,
    whole: values.part === undefined && values.backend === undefined,
    backends: values.backend?.map(backendOf) ?? BACKENDS,
    parts: values.part?.map(partOf) ?? PARTS.filter((part) => !quick || !LONG.includes(part)),
  };
}

/** The command that repeats the run. PURE. */
export function commandOf({ sizes, quick, parts, backends, whole }: Options): string {
  const most = sizes.at(-1) ?? 0;
  const variables = [
    ...(quick ? ["QUICK=1"] : []),
    ...(most === (quick ? 1_000 : 10_000) ? [] : [`SIZE=${most}`]),
  ];
  if (whole) return ["make bench", ...variables].join(" ");
  const chosen = parts.map((part) => `--part ${part}`);
  const titles = backends.map(({ title }) => `--backend ${title}`);
  const some = backends.length < BACKENDS.length ? titles : [];
  return [...variables, "node bench/main.ts", ...chosen, ...some].join(" ");
}

/** What is affordable with so many services loaded. */
export function effortOf({ quick }: Pick<Options, "quick">, services: number): Effort {
  const large = services > 2_000;
  if (quick) {
    return {
      ...{ coldSyncs: 1, changes: 10, series: 1 },
      ...{ stormSeconds: 2, flipSeconds: 2, idleSeconds: 10 },
    };
  }
  return {
    coldSyncs: large ? 2 : 5,
    changes: large ? 30 : 100,
    series: large ? 3 : 5,
    stormSeconds: 5,
    flipSeconds: 10,
    idleSeconds: 60,
  };
}

/** How many services each cluster exports, at most: all clusters and their API servers are on this one machine. */
export function exportsOf({ sizes, quick }: Pick<Options, "quick" | "sizes">): number {
  return Math.min(quick ? 200 : 1_000, sizes.at(-1) ?? 1);
}

function sizeOf(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new Error(`SIZE=${text}: expected a number of services from 1 to 99999`);
}

function partOf(text: string): Part {
  const part = PARTS.find((one) => one === text);
  if (part !== undefined) return part;
  throw new Error(`--part ${text}: expected one of ${PARTS.join(", ")}`);
}
