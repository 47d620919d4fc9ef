import type { Problem } from "../../api/problem.ts";
import type { ExportRecord, SliceFact } from "../model/facts.ts";
import {
  MOST_PROBLEMS,
  MOST_RECORD_CHARACTERS,
  MOST_RECORDS,
  MOST_REGISTRY_ENDPOINTS,
  MOST_REGISTRY_PORTS,
  MOST_REGISTRY_SLICES,
} from "../model/limits.ts";
import { Allowance, type Limit } from "./allowance.ts";

/** How many records of one registry are believed, and how large they may be. */
const RECORD_LIMITS: readonly Limit<ExportRecord>[] = [
  { reason: "too-many-records", most: MOST_RECORDS, weigh: () => 1 },
  { reason: "too-many-keys", most: MOST_RECORD_CHARACTERS, weigh: charactersOf },
];

/** How many slices of one registry are believed, and how much they may list. */
const SLICE_LIMITS: readonly Limit<SliceFact>[] = [
  { reason: "too-many-slices", most: MOST_REGISTRY_SLICES, weigh: () => 1 },
  {
    reason: "too-many-endpoints",
    most: MOST_REGISTRY_ENDPOINTS,
    weigh: ({ endpoints }) => endpoints.length,
  },
  { reason: "too-many-ports", most: MOST_REGISTRY_PORTS, weigh: ({ ports }) => ports.length },
];

/** How many problems of one kind of object in a registry are remembered. */
const PROBLEM_LIMITS: readonly Limit<readonly Problem[]>[] = [
  { reason: "too-many-problems", most: MOST_PROBLEMS, weigh: ({ length }) => length },
];

/**
 * How much of one registry is believed. What is refused is not kept, so when there is room for more, all of it is
 * read again: once at a time, however often there is.
 */
export class RegistryAllowance {
  readonly records = new Allowance(RECORD_LIMITS);
  readonly slices = new Allowance(SLICE_LIMITS);
  readonly faults = {
    records: new Allowance(PROBLEM_LIMITS),
    slices: new Allowance(PROBLEM_LIMITS),
  };
  readonly #readAgain: () => void;
  #isRead = false;
  /** Something became free while all was being read: what had come before that may have been refused. */
  #isLate = false;

  constructor(readAgain: () => void) {
    this.#readAgain = readAgain;
  }

  /** All of it is going to be listed. `expected`: keys of records that were believed before we began. */
  begin(expected: Iterable<string>): void {
    this.#isRead = false;
    this.#isLate = false;
    this.records.expect(expected);
  }

  /** All of it has been listed. */
  end(): void {
    this.#isRead = true;
    if (this.records.listed() || this.#isLate) this.room();
  }

  /** There is room for more. */
  room(): void {
    const isFull = this.records.reason !== undefined || this.slices.reason !== undefined;
    if (!this.#isRead) this.#isLate = true;
    else if (isFull) this.#readAgain();
  }
}

function charactersOf({ metadata }: ExportRecord): number {
  let characters = 0;
  for (const map of [metadata.labels, metadata.annotations]) {
    for (const [key, value] of Object.entries(map)) characters += key.length + value.length;
  }
  return characters;
}
