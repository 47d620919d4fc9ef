import type { Reason } from "../../api/reasons.ts";
import { CodedError } from "../errors.ts";

/** Why an API server's answer could not be used, or did not come. */
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
  | "absent"
  | "write-conflict"
  | "overwritten"
  | "invalid"
  | "namespace-terminating"
  | "not-leader"
>;

/** Characters of a message that are kept: a server may say anything, and the state and the log hold it. */
const LONGEST_MESSAGE = 300;

/** An answer of an API server that cannot be used, or that did not come. */
export class ApiFault extends CodedError {
  readonly reason: FaultReason;
  /** Milliseconds that the server asks to be left alone for. */
  readonly retryAfter: number | undefined;

  constructor(reason: FaultReason, message: string, options: FaultOptions = {}) {
    super("CSP_API_REQUEST", message.slice(0, LONGEST_MESSAGE), { cause: options.cause });
    this.name = "ApiFault";
    this.reason = reason;
    this.retryAfter = options.retryAfter;
  }
}

/** What else is known of a fault. */
export interface FaultOptions {
  /** Milliseconds that the server asks to be left alone for. */
  readonly retryAfter?: number | undefined;
  readonly cause?: unknown;
}

/** The reason that an HTTP status stands for, where it is no success. PURE. */
export function reasonOfStatus(status: number): FaultReason {
  if (status === 401) return "unauthorized";
  if (status === 403) return "forbidden";
  if (status === 404) return "not-served";
  if (status === 410) return "expired";
  if (status === 429) return "throttled";
  if (status >= 400 && status < 500) return "refused";
  if (status >= 500 && status < 600) return "server-error";
  // A redirect, say: API servers give none, so something else has answered.
  return "garbage";
}

/** The longest wait that a server may ask for, in milliseconds: an outage must not outlive a typing error. */
const LONGEST_RETRY_AFTER_MS = 5 * 60_000;

/** Milliseconds of a `Retry-After` header. Its other form, a date, would need clocks that agree. PURE. */
export function retryAfterOf(header: string | undefined): number | undefined {
  if (header === undefined || !/^\d{1,9}$/.test(header)) return undefined;
  return Math.min(Number(header) * 1000, LONGEST_RETRY_AFTER_MS);
}
