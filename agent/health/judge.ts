import type { TcpEndpoint } from "./evidence.ts";

/**
 * What became of a probe: a connection; a refusal, by which a host shows that it is alive; nothing; or a fault of this node, which says nothing about
 * the endpoint.
 */
export type ProbeResult = "accepted" | "refused" | "silent" | "unknown";

/** An endpoint that was probed. */
export interface Probed {
  readonly endpoint: TcpEndpoint;
  /** Those whose slices list it for its cluster. */
  readonly namespaces: ReadonlySet<string>;
  readonly result: ProbeResult;
}

/** The probes of one examination. */
export interface Examination {
  /** Endpoints of the cluster that owe answers to clients. */
  readonly suspects: readonly Probed[];
  /** Others of the same cluster, chosen at random. */
  readonly samples: readonly Probed[];
  /** Endpoints of other clusters. */
  readonly others: readonly Pick<Probed, "result">[];
  /** True if the cluster has declared its ranges: each answer is its own. Otherwise one namespace may list what always answers. */
  readonly isDeclared: boolean;
}

/**
 * What does not answer.
 *
 * - nothing: every suspect has answered the probe, or too little is known.
 * - endpoints: these, while others of their cluster answer.
 * - cluster: nothing of the cluster that was tried, while others answer; `except` for what one namespace alone lists, if that is not empty.
 * - uplink: nothing that was tried: the fault may be this node's own, and no other choice of endpoints would help.
 */
export type Judgement =
  | { readonly silent: "nothing" | "uplink" }
  | { readonly silent: "endpoints"; readonly endpoints: readonly TcpEndpoint[] }
  | {
      readonly silent: "cluster";
      readonly endpoints: readonly TcpEndpoint[];
      readonly except: string;
    };

/** Judges an examination. PURE. */
export function judge({ suspects, samples, others, isDeclared }: Examination): Judgement {
  const mute = suspects.filter(isSilent);
  if (mute.length === 0) return { silent: "nothing" };
  const own = [...suspects, ...samples];
  const isElsewhere = others.some(hasAnswered);
  const answering = own.filter(hasAnswered);
  if (answering.length > 0) {
    const except = isDeclared ? "" : soleOf(answering.map(({ namespaces }) => namespaces));
    const rest = own.filter(({ namespaces }) => !isOnlyOf(namespaces, except));
    if (except !== "" && isElsewhere && rest.every(isSilent) && mute.some((c) => rest.includes(c)))
      return { silent: "cluster", endpoints: rest.map(endpointOf), except };
    return { silent: "endpoints", endpoints: mute.map(endpointOf) };
  }
  if (!own.every(isSilent)) return { silent: "nothing" };
  if (isElsewhere) return { silent: "cluster", endpoints: own.map(endpointOf), except: "" };
  return { silent: others.every(isSilent) ? "uplink" : "nothing" };
}

/** The only namespace of these sets; empty if there is none, or there are several. PURE. */
export function soleOf(all: readonly ReadonlySet<string>[]): string {
  const [first = "", second] = new Set(all.flatMap((one) => [...one]));
  return second === undefined ? first : "";
}

/** Whether no namespace but this one is in the set. PURE. */
export function isOnlyOf(namespaces: ReadonlySet<string>, one: string): boolean {
  return namespaces.size === 1 && namespaces.has(one);
}

function isSilent({ result }: Pick<Probed, "result">): boolean {
  return result === "silent";
}

function hasAnswered({ result }: Pick<Probed, "result">): boolean {
  return result === "accepted" || result === "refused";
}

function endpointOf({ endpoint }: Probed): TcpEndpoint {
  return endpoint;
}
