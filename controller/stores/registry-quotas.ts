import type { ExportRecord, SliceFact } from "../model/facts.ts";
import {
  MOST_PROBLEMS,
  MOST_RECORD_CHARACTERS,
  MOST_RECORDS,
  MOST_REGISTRY_ENDPOINTS,
  MOST_REGISTRY_PORTS,
  MOST_REGISTRY_SLICES,
} from "../model/limits.ts";
import type { Limit } from "./quota.ts";
import { StoreQuota, type StoreQuotaEvents } from "./store-quota.ts";

const RECORD_LIMITS: readonly Limit<ExportRecord>[] = [
  { reason: "too-many-records", most: MOST_RECORDS, weigh: () => 1 },
  { reason: "too-many-keys", most: MOST_RECORD_CHARACTERS, weigh: charactersOf },
];

/** `maxRules`: endpoints times ports. Session affinity is not a slice's, so it is counted for each import alone. */
const sliceLimits = (maxRules: number): readonly Limit<SliceFact>[] => [
  { reason: "too-many-slices", most: MOST_REGISTRY_SLICES, weigh: () => 1 },
  {
    reason: "too-many-endpoints",
    most: MOST_REGISTRY_ENDPOINTS,
    weigh: ({ endpoints }) => endpoints.length,
  },
  { reason: "too-many-ports", most: MOST_REGISTRY_PORTS, weigh: ({ ports }) => ports.length },
  {
    reason: "too-many-rules",
    most: maxRules,
    weigh: ({ endpoints, ports }) => endpoints.length * ports.length,
  },
];

/** Dependencies of `RegistryQuotas`. */
export interface RegistryQuotasOptions {
  readonly namespace: string;
  /** As in `MemberOptions`. */
  readonly maxRules: number;
  readonly problems: StoreQuotaEvents["problems"];
  /** Lists the registry again. */
  readonly relist: () => void;
}

/** The quotas of one registry. Rejected objects are not kept, so the registry is listed again when there is room. */
export class RegistryQuotas {
  readonly records: StoreQuota<ExportRecord>;
  readonly slices: StoreQuota<SliceFact>;
  readonly #relist: () => void;
  #isListed = false;
  /** Room appeared while the registry was being listed, perhaps after a rejection. */
  #isLate = false;

  constructor({ namespace, maxRules, problems, relist }: RegistryQuotasOptions) {
    const events = { problems, room: () => this.#room() };
    const quota = <Fact>(kind: string, limits: readonly Limit<Fact>[]) =>
      new StoreQuota(`all ${kind} of ${namespace}`, limits, MOST_PROBLEMS, events);
    this.records = quota("ServiceImports", RECORD_LIMITS);
    this.slices = quota("EndpointSlices", sliceLimits(maxRules));
    this.#relist = relist;
  }

  /** A list begins. `expected`: keys of records that were admitted before a restart. */
  begin(expected: Iterable<string>): void {
    this.#isListed = false;
    this.#isLate = false;
    this.records.expect(expected);
  }

  /** The list is complete. */
  end(): void {
    this.#isListed = true;
    if (this.records.listed() || this.#isLate) this.#room();
  }

  /** Rejected objects may fit now. */
  #room(): void {
    if (!this.#isListed) this.#isLate = true;
    else if (this.records.isFull || this.slices.isFull) this.#relist();
  }
}

function charactersOf({ metadata }: ExportRecord): number {
  let characters = 0;
  for (const map of [metadata.labels, metadata.annotations]) {
    for (const [key, value] of Object.entries(map)) characters += key.length + value.length;
  }
  return characters;
}
