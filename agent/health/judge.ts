import type { TcpEndpoint } from "./evidence.ts";

/**
 * What became of a probe: a connection; a refusal, by which a host shows that it is alive; nothing; or a fault of this node, which says nothing about
 * the endpoint.
 */
export type ProbeResult = "accepted" | "refused" | "silent" | "unknown";

/** An endpoint that was probed. */
export interface Probed {
  readonly endpoint: TcpEndpoint;
  readonly result: ProbeResult;
}

/** The probes of one examination. */
export interface Examination {
  /** Endpoints of the cluster that owe answers to clients. */
  readonly suspects: readonly Probed[];
  /** Others of the same cluster, chosen at random. */
  readonly samples: readonly Probed[];
  /** Endpoints of other clusters. */
  readonly others: readonly Probed[];
}

/**
 * What does not answer.
 *
 * - nothing: every suspect has answered the probe, or too little is known.
 * - endpoints: these, while others of their cluster answer.
 * - cluster: nothing of the cluster that was tried, while others answer.
 * - uplink: nothing that was tried: the fault may be this node's own, and no other choice of endpoints would help.
 */
export type Judgement =
  | { readonly silent: "nothing" | "uplink" }
  | { readonly silent: "endpoints" | "cluster"; readonly endpoints: readonly TcpEndpoint[] };

/** Judges an examination. PURE. */
export function judge({ suspects, samples, others }: Examination): Judgement {
  const mute = suspects.filter(isSilent);
  if (mute.length === 0) return { silent: "nothing" };
  const own = [...suspects, ...samples];
  if (own.some(hasAnswered)) return { silent: "endpoints", endpoints: mute.map(endpointOf) };
  if (!own.every(isSilent)) return { silent: "nothing" };
  if (others.some(hasAnswered)) return { silent: "cluster", endpoints: own.map(endpointOf) };
  return { silent: others.every(isSilent) ? "uplink" : "nothing" };
}

function isSilent({ result }: Probed): boolean {
  return result === "silent";
}

function hasAnswered({ result }: Probed): boolean {
  return result === "accepted" || result === "refused";
}

function endpointOf({ endpoint }: Probed): TcpEndpoint {
  return endpoint;
}
