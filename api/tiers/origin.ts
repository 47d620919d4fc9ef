/** The cluster that endpoints come from. Without a cluster, the other fields are absent, too. */
export interface Origin {
  readonly cluster?: string;
  readonly region?: string;
  /** The cluster's properties by name; ID and region are not read from here. */
  readonly properties?: ReadonlyMap<string, string>;
}
