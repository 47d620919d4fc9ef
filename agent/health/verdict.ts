import { destination } from "../plan/virtual-service.ts";
import type { SilentEndpoint, TcpEndpoint } from "./evidence.ts";

/** What was found silent: one endpoint, or all of a cluster. */
export interface Verdict {
  /** Unique: `cluster c2` or `endpoint 10.2.0.5:8080`. */
  readonly name: string;
  readonly scope: "endpoint" | "cluster";
  readonly cluster: string;
  /** The namespace whose slices list the endpoint, or the only one with slices of the cluster; empty if there are several, and for a verdict of an earlier run. */
  readonly namespace: string;
  /** With a cluster: the namespace whose endpoints answer all the same; empty if there is none. */
  except: string;
  /** The endpoints that showed it: each ends it by an answer, to whomever. */
  readonly endpoints: Map<string, TcpEndpoint>;
  /** When it was found, in milliseconds of the clock. */
  readonly since: number;
  readonly terms: Terms;
  /** Probes without an answer. */
  probes: number;
  /** When the next probe is due; Infinity while one is under way. */
  probeAt: number;
}

/** How long a verdict lasts. */
export interface Terms {
  /** How many of the same came before it, one soon after the other. */
  readonly recurrences: number;
  /** Milliseconds that it is kept although something has answered. */
  readonly hold: number;
  /** Milliseconds until clients try again. */
  readonly expires: number;
}

/**
 * Milliseconds for which a verdict lasts at most: where this node cannot connect to an endpoint that others can, its probes would never end it.
 */
const LONGEST = { min: 300_000, max: 3_600_000 };
/** Milliseconds that it is held the second time in a row; doubled each time. */
const HOLD = { min: 10_000, max: 300_000 };
/** Milliseconds without a verdict after which former ones are forgotten. */
const FORGOTTEN = 600_000;
/** Names that are remembered. */
const MOST_REMEMBERED = 4_096;

/** How often a name was found silent in a row: endpoints that come and go are used last for longer each time. PURE but for its memory. */
export class Recurrence {
  readonly #ends = new Map<string, { readonly times: number; readonly at: number }>();

  /** The terms of a verdict that begins now. */
  terms(name: string, now: number): Terms {
    const last = this.#ends.get(name);
    const recurrences = last === undefined || now - last.at > FORGOTTEN ? 0 : last.times;
    const grown = (times: number, { min, max }: typeof HOLD) => Math.min(max, min * 2 ** times);
    return {
      recurrences,
      hold: recurrences === 0 ? 0 : grown(recurrences - 1, HOLD),
      expires: grown(recurrences, LONGEST),
    };
  }

  /** A verdict ends now. */
  ended({ name, terms }: Pick<Verdict, "name" | "terms">, now: number): void {
    this.#ends.delete(name);
    this.#ends.set(name, { times: terms.recurrences + 1, at: now });
    for (const oldest of this.#ends.keys()) {
      if (this.#ends.size <= MOST_REMEMBERED) break;
      this.#ends.delete(oldest);
    }
  }
}

/** The name of a verdict on one endpoint. */
export function endpointName({ address, port }: TcpEndpoint): string {
  return destination(address, port);
}

/** The endpoints of a verdict that the kernel has dropped. */
export function missingOf({ endpoints }: Verdict, found: readonly TcpEndpoint[]): TcpEndpoint[] {
  const present = new Set(found.map(endpointName));
  return [...endpoints].filter(([name]) => !present.has(name)).map(([, one]) => one);
}

/** When an answer may end a verdict, in milliseconds of the clock. */
export function holdEnd({ since, terms }: Verdict): number {
  return since + terms.hold;
}

/** When a verdict ends in any case, in milliseconds of the clock. */
export function expiryOf({ since, terms }: Verdict): number {
  return since + terms.expires;
}

/** A verdict as the kernel keeps it. `expires`: milliseconds from now. */
export function elementsOf(
  { cluster, scope, endpoints }: Verdict,
  expires: number,
): SilentEndpoint[] {
  const isWhole = scope === "cluster";
  return [...endpoints.values()].map((one) => ({ ...one, cluster, isWhole, expires }));
}
