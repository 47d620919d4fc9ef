import type { EndpointRanges } from "../model/slice-content.ts";

/** Where one cluster publishes, and what it may publish there. */
export interface Registry extends EndpointRanges {
  /** Whose it is: what lies in it is this cluster's, whatever it says. */
  readonly cluster: string;
  readonly namespace: string;
}
