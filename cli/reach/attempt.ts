import { isFields, textField } from "../../api/parse/fields.ts";

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
