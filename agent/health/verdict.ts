import { destination } from "../plan/virtual-service.ts";
import type { Answered, SilentEndpoint, TcpEndpoint } from "./evidence.ts";

/** What was found silent: an endpoint, all of a group, or all of a cluster. */
export interface Verdict {
  /** Unique: `cluster c2`, `group shop/web c2 IPv4 8080` or `endpoint 10.2.0.5:8080`. */
  readonly name: string;
  readonly scope: SilentEndpoint["scope"];
  readonly cluster: string;
  /** The namespace whose slices list the endpoint, or the only one with slices of the cluster; empty if there are several, and for a verdict of an earlier run. */
  readonly namespace: string;
  /** With a cluster: the namespace whose endpoints answer all the same; empty if there is none. */
  except: string;
  /** The endpoints that the kernel keeps, and reports an answer of each: those that clients have called or probes have tried, and others of a group. */
  readonly endpoints: Map<string, TcpEndpoint>;
  /** Names of the endpoints that were shown silent themselves; its others are suspected. */
  readonly shown: Set<string>;
  /** Names of the endpoints that have answered while the verdict is held, and not been silent since: they are used before those that are dead. */
  readonly answering: Set<string>;
  /** With a group: all its endpoints, or those that have not answered since. */
  members: readonly TcpEndpoint[];
  /** With a group: others of it answer, and one of `members` that does leaves alone. */
  readonly isPartial: boolean;
  /** True if probes may not reach it: they do not end it, and clients try again soon. */
  readonly isTrial: boolean;
  /** With a group: it is a trial because of closed members alone, and probes end it for the others. */
  readonly hasClosed: boolean;
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
  /** Verdicts of this name before it, one soon after the other, that an answer ended. */
  readonly recurrences: number;
  /** Milliseconds for which it is kept although something has answered. */
  readonly hold: number;
  /** Milliseconds until clients try again. */
  readonly expires: number;
}

/** Why a verdict ends: something answered, clients are to try again, or a verdict on its group or cluster replaces it. */
export type VerdictEnd = "answered" | "expired" | "replaced";

/** Milliseconds until clients try again where probes work: they end the verdict sooner. Doubled each time. */
const LONGEST = { min: 300_000, max: 3_600_000 };
/** Milliseconds until clients try again where only they can end it. Doubled each time. */
const TRIAL = { min: 10_000, max: 300_000 };
/** The same while others of the group answer: an attempt costs them one connection of three seconds, and what works again is used soon. */
const TRIAL_OF_PART = { min: 10_000, max: 20_000 };
/** Milliseconds for which the second verdict in a row is held. Doubled each time. */
const HOLD = { min: 10_000, max: 300_000 };
/** Milliseconds without a verdict after which former ones are forgotten. */
export const FORGOTTEN_MS = 600_000;
/** Names that are remembered, and their endpoints: groups of a tenant can have many of these, and end one after the other. A namespace has 64 verdicts. */
const MOST_REMEMBERED = { names: 4_096, endpoints: 65_536, ofName: 256 };

/** What is remembered of a name. */
interface Past {
  /** Verdicts in a row that an answer ended. */
  readonly answered: number;
  /** Milliseconds until the last one expired; 0 if an answer ended it. */
  readonly lasted: number;
  readonly at: number;
  /** Names of its endpoints, at most `MOST_REMEMBERED.ofName`. */
  readonly endpoints: readonly string[];
  /** True if others of its group answered meanwhile: who is no stranger to the group is known. */
  readonly isPartial: boolean;
}

/** What terms depend on. `isTrial`: only clients can end the verdict. `isPartial`: others of its group answer. */
type TermsOf = Pick<Verdict, "isPartial" | "isTrial">;

/** Remembers verdicts that have ended: endpoints that come and go are used last for longer each time. */
export class Recurrence {
  readonly #past = new Map<string, Past>();
  /** Endpoints of all of these. */
  #endpoints = 0;

  /** The terms of a verdict that begins now. */
  terms(name: string, { isPartial, isTrial }: TermsOf, now: number): Terms {
    const { answered, lasted } = this.#of(name, now);
    const { min, max } = isTrial ? (isPartial ? TRIAL_OF_PART : TRIAL) : LONGEST;
    return {
      recurrences: answered,
      hold: answered === 0 ? 0 : Math.min(HOLD.max, HOLD.min * 2 ** (answered - 1)),
      // Not by their number: a part of the group may have been tried again for long, and all of it has just died.
      expires: Math.min(max, Math.max(min, 2 * lasted)),
    };
  }

  /** True if the last verdict of this name expired, none has begun since, and nothing of the group answered meanwhile. */
  hasExpired(name: string, now: number): boolean {
    const { lasted, isPartial } = this.#of(name, now);
    return lasted > 0 && !isPartial;
  }

  /** A verdict ends now. */
  ended(
    {
      name,
      endpoints,
      members,
      isPartial,
      terms,
    }: Pick<Verdict, "name" | "endpoints" | "members" | "isPartial" | "terms">,
    why: VerdictEnd,
    now: number,
  ): void {
    const before = this.#of(name, now);
    this.#forget(name);
    const all = new Set([...endpoints.keys(), ...members.map(endpointName)]);
    const names = new Set(all.values().take(MOST_REMEMBERED.ofName));
    this.#endpoints += names.size;
    this.#past.set(name, {
      answered: before.answered + (why === "answered" ? 1 : 0),
      lasted: why === "expired" ? terms.expires : 0,
      at: now,
      endpoints: [...names],
      isPartial,
    });
    const most = MOST_REMEMBERED;
    for (const oldest of this.#past.keys()) {
      if (this.#past.size <= most.names && this.#endpoints <= most.endpoints) break;
      this.#forget(oldest);
    }
  }

  /** Clients that tried again were answered: former verdicts that expired do not matter any more. */
  forgive(answered: readonly Answered[], now: number): void {
    const expired = [...this.#past].filter(([, past]) => past.lasted > 0);
    if (expired.length === 0) return;
    const ages = new Map<string, number>();
    for (const one of answered) {
      const name = endpointName(one);
      ages.set(name, Math.min(one.age, ages.get(name) ?? Infinity));
    }
    for (const [name, past] of expired) {
      const hasAnswered = past.endpoints.some((one) => now - (ages.get(one) ?? Infinity) > past.at);
      if (hasAnswered) this.#past.set(name, { ...past, lasted: 0 });
    }
  }

  #forget(name: string): void {
    this.#endpoints -= this.#past.get(name)?.endpoints.length ?? 0;
    this.#past.delete(name);
  }

  #of(name: string, now: number): Past {
    const past = this.#past.get(name);
    const isRecent = past !== undefined && now - past.at <= FORGOTTEN_MS;
    return isRecent ? past : { answered: 0, lasted: 0, at: now, endpoints: [], isPartial: false };
  }
}

/** The name of a verdict on one endpoint. */
export function endpointName({ address, port }: TcpEndpoint): string {
  return destination(address, port);
}

/** The name of a client of an endpoint. */
export function pairName(one: TcpEndpoint & Pick<Answered, "client">): string {
  return `${endpointName(one)} ${one.client}`;
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

/** A verdict as the kernel keeps it, or these of its endpoints: a restart finds all of it there. `expires`: milliseconds from now. */
export function elementsOf(
  { name, cluster, scope, isPartial, isTrial, shown, endpoints }: Verdict,
  expires: number,
  some: Iterable<TcpEndpoint> = endpoints.values(),
  isExpired = false,
): SilentEndpoint[] {
  const group = scope === "group" ? name.slice("group ".length) : "";
  return [...some].map(({ address, port }) => {
    const isShown = shown.has(endpointName({ address, port }));
    const verdict = { cluster, scope, group, isShown, isPartial, isTrial };
    return { address, port, ...verdict, isExpired, expires };
  });
}
