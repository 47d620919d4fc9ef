import type { ProbeResult, Reach, TcpEndpoint } from "./evidence.ts";

/** An endpoint that was probed. */
export interface Probed {
  readonly endpoint: TcpEndpoint;
  /** Namespaces whose slices list it for its cluster. */
  readonly namespaces: ReadonlySet<string>;
  readonly result: ProbeResult;
}

/** The state of a cluster while some of its endpoints owe answers. */
export interface ClusterPicture {
  /** Endpoints that owe answers to clients, and were probed. */
  readonly suspects: readonly Probed[];
  /** Other endpoints of the cluster, chosen at random. */
  readonly samples: readonly Probed[];
  /** Endpoints without a verdict that other namespaces list for the cluster, or all for an empty text. */
  readonly countWithout: (namespace: string) => number;
  /** Endpoints that have answered clients since the suspects owe answers. */
  readonly answered: readonly Omit<Probed, "result">[];
  /** True if the cluster has declared its ranges: each answer is its own. Otherwise a namespace may list an address that always answers. */
  readonly isDeclared: boolean;
  /** The best reach of its groups. */
  readonly reach: Reach;
}

/** Whether nothing of a cluster answers; `except`: the namespace whose endpoints answer all the same, or an empty text. */
export type ClusterState =
  | { readonly isSilent: false }
  | {
      readonly isSilent: true;
      readonly endpoints: readonly TcpEndpoint[];
      readonly except: string;
    };

const NOT_SILENT: ClusterState = { isSilent: false };

/** Silent probes that a verdict needs, or as many as there are endpoints. Where a third of a cluster is dead, such as a zone, so many are once in 700 times. */
export const ENOUGH_PROBES = 6;

/** Derives the state of a cluster from probes and answers to clients. PURE. */
export function clusterState(picture: ClusterPicture): ClusterState {
  const { suspects, samples, isDeclared, reach } = picture;
  if (reach !== "works" || !suspects.some(isSilent)) return NOT_SILENT;
  const probed = [...suspects, ...samples];
  const answering = [...probed.filter(hasAnswered), ...picture.answered];
  const except =
    answering.length === 0 || isDeclared
      ? ""
      : soleOf(answering.map(({ namespaces }) => namespaces));
  if (answering.length > 0 && except === "") return NOT_SILENT;
  const rest = probed.filter(({ namespaces }) => !isOnlyOf(namespaces, except));
  if (!rest.every(isSilent) || !suspects.some((one) => isSilent(one) && rest.includes(one)))
    return NOT_SILENT;
  if (rest.length < Math.min(ENOUGH_PROBES, picture.countWithout(except))) return NOT_SILENT;
  return { isSilent: true, endpoints: rest.map(({ endpoint }) => endpoint), except };
}

/** What is known of another cluster. */
export interface Neighbour {
  /** True if a verdict on it, or on some of its endpoints, exists, or the latest probe of it is silent. */
  readonly isSilent: boolean;
  /** True if it has answered a client or a probe lately. */
  readonly answers: boolean;
}

/** Whether nothing of any other cluster answers, so that this node's own uplink may be at fault. PURE. */
export function isUplinkSilent(neighbours: readonly Neighbour[]): boolean {
  return neighbours.length > 0 && neighbours.every((one) => one.isSilent && !one.answers);
}

/** The only namespace of these sets; empty if there is none, or there are several. PURE. */
export function soleOf(all: readonly ReadonlySet<string>[]): string {
  const [first = "", second] = new Set(all.flatMap((one) => [...one]));
  return second === undefined ? first : "";
}

/** Whether the set has this namespace alone. PURE. */
export function isOnlyOf(namespaces: ReadonlySet<string>, one: string): boolean {
  return namespaces.size === 1 && namespaces.has(one);
}

/** Whether an endpoint has answered a probe. PURE. */
export function hasAnswered({ result }: Pick<Probed, "result">): boolean {
  return result === "accepted" || result === "refused";
}

function isSilent({ result }: Pick<Probed, "result">): boolean {
  return result === "silent";
}
