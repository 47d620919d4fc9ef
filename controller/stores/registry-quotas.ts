import { namesOf } from "../../api/names.ts";
import { StoreQuota, type StoreQuotaEvents } from "../../api/store-quota.ts";
import type { ExportRecord, SliceFact } from "../model/facts.ts";
import { MOST_PROBLEMS } from "../model/limits.ts";
import { namespaceOfService, serviceOfRecord, serviceOfSlice } from "../registry/names.ts";
import { RECORD_LIMITS, sliceLimits } from "../registry/registry-limits.ts";

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
  #isListing = false;
  #isRoom = false;

  constructor({ namespace: place, maxRules, problems, relist }: RegistryQuotasOptions) {
    this.#relist = relist;
    const events = { problems, room: () => this.#room() };
    const common = { place, mostProblems: MOST_PROBLEMS, events };
    this.records = new StoreQuota<ExportRecord>({
      ...{ ...common, kind: "ServiceImports", limits: RECORD_LIMITS },
      ownerOf: (key) => namespaceOfService(serviceOfRecord(namesOf(key).name)),
    });
    this.slices = new StoreQuota<SliceFact>({
      ...{ ...common, kind: "EndpointSlices", limits: sliceLimits(maxRules) },
      ownerOf: (key) => namespaceOfService(serviceOfSlice(namesOf(key).name)),
    });
  }

  /** A list begins. */
  begin(): void {
    this.#isListing = true;
    this.#isRoom = false;
    this.records.begin();
    this.slices.begin();
  }

  /** The list is complete. */
  end(): void {
    this.records.end();
    this.slices.end();
    this.#isListing = false;
    if (this.#isRoom) this.#relist();
  }

  /** A list that is under way may have passed what fits now. */
  #room(): void {
    if (this.#isListing) this.#isRoom = true;
    else this.#relist();
  }
}
