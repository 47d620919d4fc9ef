import { field, textField } from "../../api/parse/fields.ts";
import type { Reason } from "../../api/reasons.ts";
import { CodedError } from "../errors.ts";

/** Why a request to an API server failed. */
export type FaultReason = Extract<
  Reason,
  | "unreachable"
  | "stalled"
  | "no-credentials"
  | "unauthorized"
  | "forbidden"
  | "not-served"
  | "throttled"
  | "refused"
  | "server-error"
  | "expired"
  | "rewound"
  | "garbage"
  | "too-many-objects"
  | "absent"
  | "write-conflict"
  | "overwritten"
  | "invalid"
  | "namespace-terminating"
  | "webhook-failed"
  | "write-failed"
  | "not-leader"
>;

/** Maximum characters of a message: it comes from the server, and state and log contain it. */
const LONGEST_MESSAGE = 300;

/** The part of a message that is searched: its author decides how long it is. */
const MOST_SEARCHED = 1_000;

/** A failed request to an API server: no response, or one that cannot be used. */
export class ApiFault extends CodedError {
  readonly reason: FaultReason;
  /** Milliseconds to wait before a retry, as requested by the server. */
  readonly retryAfter: number | undefined;
  /** HTTP status of the response; undefined if there was none. */
  readonly status: number | undefined;
  /** Milliseconds until the request failed, if it was one of an `ApiWriter`. */
  took = 0;

  constructor(
    reason: FaultReason,
    message: string,
    {
      cause,
      retryAfter,
      status,
    }: { cause?: unknown; retryAfter?: number | undefined; status?: number } = {},
  ) {
    super("CSP_API_REQUEST", message.slice(0, LONGEST_MESSAGE), { cause });
    this.name = "ApiFault";
    this.reason = reason;
    this.retryAfter = retryAfter;
    this.status = status;
  }
}

/** The reason for an HTTP status other than success. PURE. */
export function reasonOfStatus(status: number): FaultReason {
  if (status === 401) return "unauthorized";
  if (status === 403) return "forbidden";
  if (status === 404) return "not-served";
  if (status === 410) return "expired";
  if (status === 429) return "throttled";
  if (status >= 400 && status < 500) return "refused";
  if (status >= 500 && status < 600) return "server-error";
  // Such as a redirect, which no API server sends.
  return "garbage";
}

/** Maximum milliseconds of a Retry-After, so that a wrong value does not prolong an outage. */
const LONGEST_RETRY_AFTER_MS = 5 * 60_000;

/** Milliseconds of a `Retry-After` header. Its other form, a date, would require synchronized clocks. PURE. */
export function retryAfterOf(header: string | undefined): number | undefined {
  if (header === undefined || !/^\d{1,9}$/.test(header)) return undefined;
  return Math.min(Number(header) * 1000, LONGEST_RETRY_AFTER_MS);
}

/**
 * How admission (ResourceQuota, webhooks, policies) denies an object: 403, as for a missing permission, or with a status that the author of a webhook or
 * policy chooses: controller-runtime's webhooks deny with 500 on errors of their own (Kubernetes 1.21 to 1.36).
 */
const ADMISSION =
  /^admission webhook "[^"]*" denied the request|is forbidden: (exceeded quota: |ValidatingAdmissionPolicy |policy ['"][^ ]* )/;

/**
 * A webhook that does not answer: 500, although the server works (Kubernetes 1.21 to 1.36). Objects of other kinds are not affected. If the webhook
 * may take longer than the request (`timeout` of ApiWriter), 504 with the reason `Timeout`; an etcd that hangs causes the same, so ApiWriter tells them apart.
 * The last ones are of a webhook whose JSON patch does not fit the object.
 */
const WEBHOOK =
  /failed calling webhook "|conversion webhook for .* failed|admission webhook "[^"]*" attempted to modify|operation does not apply: |testing value .* failed|error in (add|remove|replace|move|copy|test) for (path|from): /;

/** The reason for a failed request about one object. `statusObject`: of the response, if it has one. PURE. */
export function reasonOfObject(status: number, statusObject: unknown): FaultReason {
  const details = field(statusObject, "details");
  const message = (textField(statusObject, "message") ?? "").slice(0, MOST_SEARCHED);
  // Whatever the status, such as 409 or 503: neither another write nor an outage is the reason.
  if (status !== 422 && ADMISSION.test(message)) return "refused";
  // A 404 without a name means that the resource is not served.
  if (status === 404 && (textField(details, "name") ?? "") !== "") return "absent";
  if (status === 409) return "write-conflict";
  if (status === 422) return "invalid";
  if (status === 504 && textField(statusObject, "reason") === "Timeout") return "webhook-failed";
  if (status === 500 && WEBHOOK.test(message)) return "webhook-failed";
  if (status !== 403) return reasonOfStatus(status);
  const causes = field(details, "causes");
  const terminating = (cause: unknown) => textField(cause, "reason") === "NamespaceTerminating";
  if (Array.isArray(causes) && causes.some(terminating)) return "namespace-terminating";
  return "forbidden";
}

/** The ApiFault for an error of HTTP, TLS or TCP. PURE. */
export function faultOfTransport(thrown: unknown): ApiFault {
  if (thrown instanceof ApiFault) return thrown;
  // Node tries all addresses of a name, and throws one AggregateError without a message if all fail.
  if (thrown instanceof AggregateError && thrown.message === "")
    return faultOfTransport(thrown.errors[0]);
  if (!(thrown instanceof Error))
    return new ApiFault("unreachable", String(thrown), { cause: thrown });
  const code = "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
  const message = clearMessage(thrown.message);
  // Invalid HTTP or compression; a truncated gzip stream (Z_BUF_ERROR) is a broken connection.
  const isInvalid = /^(HPE_|Z_(?!BUF_ERROR$))/.test(code);
  return new ApiFault(isInvalid ? "garbage" : "unreachable", message || code, { cause: thrown });
}

/** Messages of Node, OpenSSL and the proxy's client that a user cannot read, and what they say. */
const MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/^aborted$/, "Connection closed during a response"],
  [/^.*SSL routines:[^:]*:([^:]+):.*$/s, "TLS: $1"],
  // It advises flags of Node, which is not what the user runs.
  [/; if the root CA is installed locally, .*$/s, ""],
  [/^Bad response: (\d+)$/, "The proxy responded with HTTP $1"],
];

function clearMessage(message: string): string {
  return MESSAGES.reduce((text, [pattern, clear]) => text.replace(pattern, clear), message);
}

/** The result of `attempt` with the first API version that is served. Throws the first fault if none is. */
export async function firstServed<Result>(
  versions: Iterable<string>,
  attempt: (version: string) => Promise<Result>,
): Promise<Result> {
  let notServed: unknown;
  for (const version of versions) {
    try {
      return await attempt(version);
    } catch (thrown) {
      if (!(thrown instanceof ApiFault) || thrown.reason !== "not-served") throw thrown;
      notServed ??= thrown;
    }
  }
  throw notServed;
}
