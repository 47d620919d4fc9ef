/** The backends, by their values of `--backend`. */
export const BACKENDS = ["iptables", "ipvs", "nftables"] as const;
/** One of `BACKENDS`. */
export type BackendName = (typeof BACKENDS)[number];

/** The default of `--backend`; every node supports it. */
export const DEFAULT_BACKEND = "iptables" satisfies BackendName;

/** What `--backend auto` stands for: the first of these that the node supports. */
export const AUTO_ORDER: readonly BackendName[] = ["nftables", DEFAULT_BACKEND];
