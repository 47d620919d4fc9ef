import { isFields, textField } from "../../api/parse/fields.ts";
import type { Printable } from "../output/printable.ts";
import { type Cell, type Screen, table } from "../output/table.ts";

/** What the pods of a cluster, and one of its nodes, reach. */
export interface Reached {
  /** Cluster ID. */
  readonly from: string;
  readonly attempts: readonly Attempt[];
}

/** What probes have found. */
export interface ProbeResults {
  readonly reached: readonly Reached[];
  /** Addresses of the pods, by cluster ID. */
  readonly addresses: ReadonlyMap<string, readonly string[]>;
  /** Probes without a result, in sentences. */
  readonly faults: readonly string[];
}

/** Who reaches whom: a row for each cluster and each outcome, so that twenty clusters that reach each other are twenty rows. PURE. */
export function reachTable(all: readonly Reached[], screen: Screen): Printable {
  const rows = all.flatMap(({ from, attempts }) => {
    const byOutcome = new Map<string, { readonly to: string[]; readonly cells: readonly Cell[] }>();
    for (const to of new Set(attempts.map((one) => one.to))) {
      const cells = (["server", "pod", "node"] as const).map((kind) =>
        cellOf(attempts.filter((one) => one.to === to && one.kind === kind)),
      );
      const outcome = cells.map(({ text }) => text).join(" ");
      const group = byOutcome.get(outcome) ?? { to: [], cells };
      group.to.push(to);
      byOutcome.set(outcome, group);
    }
    return [...byOutcome.values()].map(({ to, cells }) => [from, to.join(", "), ...cells]);
  });
  return table(["FROM", "TO", "API SERVER", "PODS", "PODS FROM A NODE"], rows, screen);
}

function cellOf(attempts: readonly Attempt[]): Cell {
  if (attempts.length === 0) return { text: "-" };
  const faults = new Set(attempts.flatMap((one) => faultOf(one) ?? []));
  if (faults.size === 0) return { text: "ok", style: "good" };
  return { text: [...faults].join(", "), style: "fault" };
}

/**
 * What nodes do not reach, a sentence for each direction. Connections of pods work without it, but then the agent's probes do not.
 * PURE.
 */
export function nodeWarnings(all: readonly Reached[]): string[] {
  return all.flatMap(({ from, attempts }) => {
    const failed = attempts.filter((one) => one.kind === "node" && faultOf(one) !== undefined);
    return [...new Set(failed.map(({ to }) => to))].flatMap((to) => {
      const [first] = failed.filter((one) => one.to === to);
      if (first === undefined) return [];
      return `a node of ${from} does not reach pods of ${to}${such(first)}: ${whyOf(first)}. Pods do not need this. But the probes of failure detection do: without them, it takes up to 7 s, and is less complete (docs/guides/connections.md). Let the addresses of nodes pass, and be routed back.`;
    });
  });
}

const such = ({ address }: Attempt): string =>
  address === undefined ? "" : `, such as ${address}`;

/** What pods do not reach, a sentence for each direction. `serverOf`: URL of an API server. PURE. */
export function reachFaults(
  all: readonly Reached[],
  serverOf: (to: string) => string | undefined,
): string[] {
  return all.flatMap(({ from, attempts }) =>
    attempts
      .filter((one) => one.kind !== "node" && faultOf(one) !== undefined)
      .map((one) => {
        const target =
          one.kind === "server"
            ? `the API server of ${one.to} at ${serverOf(one.to) ?? ""}`
            : `pods of ${one.to}${such(one)}`;
        return `pods of ${from} do not reach ${target}: ${whyOf(one)}.`;
      }),
  );
}

/** A connection of a probe. */
export interface Attempt {
  /** Cluster ID, or the context of a hub. */
  readonly to: string;
  /** From a pod to its API server or its probe, or from a node to its probe. */
  readonly kind: "server" | "pod" | "node";
  /** Of the pod. */
  readonly address?: string;
  /** True if TCP connected. */
  readonly isConnected: boolean;
  /** Until it was established, or had failed. */
  readonly ms: number;
  /** A code of Node or OpenSSL, or `OTHER`: what answers is not that probe. Absent: it succeeded. */
  readonly error?: string;
}

/** Why a connection failed. */
export type ReachFault = keyof typeof MEANINGS;

/** What each means; docs/guides/kubectl-plugin.md has them, too. */
export const MEANINGS = {
  refused: "nothing listens there, or a firewall rejects it",
  timeout: "no answer: a firewall drops packets, or there is no route",
  "no-route": "a network on the way has no route",
  "no-family": "the two pods have no IP family in common",
  "unknown-host": "DNS in the pod does not resolve the name",
  "unknown-ca":
    "its certificate is not of the CA that the other cluster gets: a proxy ends TLS on the way, or it is another server",
  expired: "its certificate has expired, or is not valid yet",
  "wrong-name": "its certificate is not for this name or address",
  "no-answer":
    "TCP connects, and then nothing arrives: large packets may be lost (MTU), or a proxy is on the way",
  other:
    "something else answers: the other cluster, or a network on the way, uses the same address",
  failed: "",
} as const;

/** The codes of Node and OpenSSL that tests and real clusters have shown, by what they mean. */
const CODES: Readonly<Record<string, ReachFault>> = {
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "no-route",
  ENETUNREACH: "no-route",
  ENOTFOUND: "unknown-host",
  EAI_AGAIN: "unknown-host",
  CERT_HAS_EXPIRED: "expired",
  CERT_NOT_YET_VALID: "expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "wrong-name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "unknown-ca",
  SELF_SIGNED_CERT_IN_CHAIN: "unknown-ca",
  UNABLE_TO_GET_ISSUER_CERT: "unknown-ca",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "unknown-ca",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "unknown-ca",
  CERT_SIGNATURE_FAILURE: "unknown-ca",
  NO_FAMILY: "no-family",
  OTHER: "other",
};

/** Why an attempt failed; undefined if it did not. PURE. */
export function faultOf({ error, isConnected }: Attempt): ReachFault | undefined {
  if (error === undefined) return undefined;
  if (error === "ETIMEDOUT") return isConnected ? "no-answer" : "timeout";
  return CODES[error] ?? "failed";
}

/** A failed attempt in words, such as `timeout: no answer: …`. PURE. */
export function whyOf(attempt: Attempt): string {
  const fault = faultOf(attempt) ?? "failed";
  return `${fault}: ${fault === "failed" ? (attempt.error ?? "") : MEANINGS[fault]}`;
}

/** The attempts of a probe's page; undefined if it is none. PURE. */
export function parseAttempts(page: string): readonly Attempt[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(page);
  } catch {
    return undefined;
  }
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((one: unknown): Attempt[] => {
    if (!isFields(one)) return [];
    const [to, kind, address, error] = ["to", "kind", "address", "error"].map((name) =>
      textField(one, name),
    );
    if (to === undefined || typeof one.ms !== "number") return [];
    return [
      {
        ...{ to, kind: kind === "pod" || kind === "node" ? kind : "server", ms: one.ms },
        isConnected: one.isConnected === true,
        ...(address !== undefined && { address }),
        ...(error !== undefined && { error }),
      },
    ];
  });
}
