import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Clock } from "../../common/clock.ts";
import { isOnlyOf, soleOf } from "./clusters.ts";
import {
  type Answered,
  type Evidence,
  LOOK_MS,
  type SilentEndpoint,
  type TcpEndpoint,
} from "./evidence.ts";
import type { HealthEvents } from "./health-events.ts";
import type { ProbeLog } from "./probe-log.ts";
import {
  elementsOf,
  endpointName,
  expiryOf,
  FORGOTTEN_MS,
  holdEnd,
  missingOf,
  type Verdict,
  type VerdictEnd,
} from "./verdict.ts";
import { MOST_OF_NAMESPACE, type Verdicts } from "./verdicts.ts";
import type { WatchedEndpoints } from "./watched-endpoints.ts";

/** What the ends of verdicts need. */
export interface VerdictEndsOptions {
  readonly verdicts: Verdicts;
  readonly evidence: Evidence;
  readonly probes: ProbeLog;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: HealthEvents;
  /** The verdicts have changed. */
  readonly report: () => void;
  /** True if the kernel had no table, so that what it lacks says nothing: it has the verdicts again. */
  readonly install: () => Promise<boolean>;
}

/** Milliseconds between two probes of a verdict. */
export const PROBE: BackoffBounds = { min: 1_000, max: 10_000 };

/** Milliseconds after which clients do not call any more what has a verdict. */
const MOVED_MS = 500;
/** Endpoints that the kernel remembers while clients try them again. A namespace has an eighth: with all of its 64 groups it would leave others no room. */
const MOST_REMEMBERED = { all: 4_096, ofNamespace: 512 };
/** Endpoints of a silent cluster, and of a group or a part of it, that are probed at once. */
const MOST_PROBED = { ofCluster: 4, ofGroup: 8 };

/** An endpoint that clients try again: it was shown silent, and has not answered since. */
interface Remembered {
  /** The kernel's elements name only those of groups. */
  readonly namespace: string;
  /** When it was shown silent, or found to be so after a restart. */
  readonly since: number;
}

/** Ends verdicts: when the kernel has dropped one because of an answer, when a probe is answered, and when their time is up. */
export class VerdictEnds {
  readonly #options: VerdictEndsOptions;
  /** The endpoints that the kernel remembers, by name. */
  #remembered = new Map<string, Remembered>();

  constructor(options: VerdictEndsOptions) {
    this.#options = options;
  }

  /** Ends verdicts that the kernel has dropped. */
  async endDropped(watched: WatchedEndpoints): Promise<void> {
    const { clock, evidence } = this.#options;
    const verdicts = this.#options.verdicts.all;
    if (verdicts.length === 0) return;
    const all = await evidence.silent();
    const found = all.filter(({ isExpired }) => !isExpired);
    const dropped = this.#options.verdicts.dropped(verdicts, found);
    if (dropped.length === 0 || (await this.#options.install())) return;
    this.#remembered = this.#rememberedIn(all);
    for (const verdict of dropped) {
      const hasExpired = clock.now() >= expiryOf(verdict) - LOOK_MS;
      if (hasExpired) {
        // Clients try the closed ones again: the others wait for a probe.
        const { endpoints, hasClosed } = verdict;
        const isClosed = (one: TcpEndpoint) => this.#options.probes.isClosed(one);
        if (hasClosed) await this.#keep(verdict, [...endpoints.values()].filter(isClosed));
        await this.#end(verdict, "expired");
        await this.#remember(verdict);
      } else if (verdict.endpoints.size === 0) continue;
      else if (clock.now() >= holdEnd(verdict))
        await this.#answered(verdict, missingOf(verdict, found), watched);
      else await this.#hold(verdict, missingOf(verdict, found), watched);
    }
  }

  /** While clients try again, the kernel remembers which endpoints were shown: otherwise the next verdict would find each of them anew, and take a connection each. */
  async #remember(verdict: Verdict): Promise<void> {
    const { endpoints, namespace, shown } = verdict;
    const remembered = this.#remembered;
    // Like its verdicts, what several namespaces share, or an earlier run found, is only limited with all others.
    const own = [...remembered.values()].filter(
      (one) => one.namespace !== "" && one.namespace === namespace,
    );
    const ownRoom = MOST_REMEMBERED.ofNamespace - own.length;
    const room = Math.max(0, Math.min(MOST_REMEMBERED.all - remembered.size, ownRoom));
    const known = [...endpoints]
      .filter(([name]) => shown.has(name) && !remembered.has(name))
      .slice(0, room);
    const added = known.map(([, one]) => one);
    await this.#options.evidence.add(elementsOf(verdict, FORGOTTEN_MS, added, true));
    for (const [name] of known) remembered.set(name, { namespace, since: verdict.since });
  }

  /** What the kernel still remembers. */
  #rememberedIn(found: readonly SilentEndpoint[]): Map<string, Remembered> {
    const since = this.#options.clock.now();
    const expired = found.filter(({ isExpired }) => isExpired);
    return new Map(
      expired.map((one) => {
        const name = endpointName(one);
        // An earlier run has remembered it.
        const [namespace = ""] = one.group.split("/");
        return [name, this.#remembered.get(name) ?? { namespace, since }];
      }),
    );
  }

  /** When an endpoint that clients try again was shown silent; undefined if it was not, or has answered since. */
  shownAt(one: TcpEndpoint): number | undefined {
    return this.#remembered.get(endpointName(one))?.since;
  }

  /** These clients were answered: the kernel does not remember the endpoints any more. */
  forgive(answered: readonly Answered[]): void {
    if (this.#remembered.size === 0) return;
    const now = this.#options.clock.now();
    for (const one of answered) {
      const since = this.shownAt(one);
      if (since !== undefined && now - one.age > since) this.#remembered.delete(endpointName(one));
    }
  }

  /** Ends verdicts on clusters and groups of which another endpoint has answered a client: the kernel does not know that it belongs to them. True if there is one. */
  async endAnswered(
    scope: "cluster" | "group",
    answered: readonly Answered[],
    watched: WatchedEndpoints,
  ): Promise<boolean> {
    const { clock, verdicts } = this.#options;
    const found = verdicts.all.filter((one) => one.scope === scope);
    if (found.length === 0) return false;
    let hasAnswered = false;
    const byGroup = Map.groupBy(scope === "group" ? answered : [], (one) => verdicts.groupOn(one));
    for (const verdict of found) {
      // The kernel reports what it keeps; and one that has joined later may have answered since the verdict began, but before it died.
      const isUnkept = (one: Answered) => !verdict.endpoints.has(endpointName(one));
      const all = scope === "group" ? (byGroup.get(verdict) ?? []).filter(isUnkept) : answered;
      const since = all.filter(({ age }) => age < clock.now() - holdEnd(verdict));
      const endpoints =
        scope === "group"
          ? since
          : [...(watched.byCluster(since).get(verdict.cluster) ?? [])]
              .filter(([, namespaces]) => !isOnlyOf(namespaces, verdict.except))
              .map(([one]) => one);
      if (endpoints.length === 0) continue;
      await this.#answered(verdict, endpoints, watched);
      hasAnswered = true;
    }
    return hasAnswered;
  }

  /** Something has answered, but too early: it is asked again when the verdict may end. */
  async #hold(
    verdict: Verdict,
    answered: readonly TcpEndpoint[],
    watched: WatchedEndpoints,
  ): Promise<void> {
    const { clock, evidence } = this.#options;
    verdict.probeAt = Math.min(verdict.probeAt, holdEnd(verdict));
    if (isTrusted(verdict, watched)) this.answers(verdict, answered, []);
    await evidence.add(elementsOf(verdict, expiryOf(verdict) - clock.now()));
  }

  /** Endpoints of a verdict that is held answer, or do not any more: the plan prefers those that do to dead ones. */
  answers(verdict: Verdict, alive: readonly TcpEndpoint[], silent: readonly TcpEndpoint[]): void {
    const { answering, scope } = verdict;
    const before = new Set(answering);
    // Of a cluster, some endpoints stand for all.
    if (scope === "cluster" && silent.length > 0) answering.clear();
    for (const one of silent) answering.delete(endpointName(one));
    for (const one of alive) answering.add(endpointName(one));
    if (before.symmetricDifference(answering).size > 0) this.#options.report();
  }

  /** Probes what is silent: some endpoints, of a group those that were not probed for longest. */
  async revisit(verdict: Verdict, watched: WatchedEndpoints): Promise<void> {
    const { clock, probes, random } = this.#options;
    const { inOrder, targets } = this.#targetsOf(verdict, watched);
    const alive = await this.#accepting(verdict, targets, watched);
    const now = clock.now();
    // Of a part, each has to be probed soon: nobody calls those that are alive.
    const isKnown = inOrder.every((one) => probes.probedAt(one) >= verdict.since);
    verdict.probes = !verdict.isPartial || isKnown ? verdict.probes + 1 : 1;
    verdict.probeAt = now + backoff(verdict.probes, PROBE, random());
    // A refusal does not end it: where a cluster boots, servers start after the network.
    if (alive.length > 0 && now >= holdEnd(verdict)) return this.#answered(verdict, alive, watched);
    const silent = targets.filter((one) => !alive.includes(one));
    if (isTrusted(verdict, watched)) this.answers(verdict, alive, silent);
    if (alive.length > 0) verdict.probeAt = Math.min(verdict.probeAt, holdEnd(verdict));
  }

  /** What of a verdict is probed now, and all that may be. */
  #targetsOf(verdict: Verdict, watched: WatchedEndpoints) {
    const { probes, random } = this.#options;
    const { cluster, except, scope, endpoints, members } = verdict;
    const { ofCluster, ofGroup } = MOST_PROBED;
    const samples =
      scope === "cluster" ? watched.sample(cluster, ofCluster, new Set(), except) : [];
    if (samples.length > 0) return { inOrder: samples, targets: samples };
    const inOrder = (members.length > 0 ? members : [...endpoints.values()].slice(0, 1))
      .filter((one) => watched.mayProbe(cluster, one) && !probes.isPending(one))
      // At random among those that never were: neighbours in a list may be on the same dead node.
      .map((one) => ({ one, probedAt: probes.probedAt(one), chance: random() }))
      .toSorted((a, b) => a.probedAt - b.probedAt || a.chance - b.chance)
      .map(({ one }) => one);
    return { inOrder, targets: inOrder.slice(0, ofGroup) };
  }

  /** Probes these endpoints of a verdict; returns those that accept. */
  async #accepting(
    { cluster }: Verdict,
    targets: readonly TcpEndpoint[],
    watched: WatchedEndpoints,
  ): Promise<TcpEndpoint[]> {
    const { probes } = this.#options;
    const results = await Promise.all(
      targets
        .filter((one) => watched.mayProbe(cluster, one))
        .map(async (one) => {
          const result = await probes.probe(one, cluster, watched.groupsOf([one]));
          return result === "accepted" ? [one] : [];
        }),
    );
    return results.flat();
  }

  /**
   * Endpoints of what is silent have answered. A verdict on a cluster ends if they are certainly its own, or several namespaces list them: one alone may list what always
   * answers, and so ends it for itself. Another endpoint is probed at once then.
   */
  async #answered(
    verdict: Verdict,
    endpoints: readonly TcpEndpoint[],
    watched: WatchedEndpoints,
  ): Promise<void> {
    const { cluster, scope } = verdict;
    const listed = watched.byCluster(endpoints).get(cluster) ?? new Map<TcpEndpoint, Set<string>>();
    const sole = soleOf([...listed.values(), new Set(verdict.except ? [verdict.except] : [])]);
    // While it was probed, a verdict on the cluster may have replaced it.
    if (!this.#options.verdicts.all.includes(verdict)) return;
    // Where clients decide alone, an outage is over when an endpoint answers that did not.
    const isOver = verdict.isTrial && endpoints.some((one) => verdict.shown.has(endpointName(one)));
    if (verdict.isPartial && !isOver && this.#options.verdicts.exempt(verdict, endpoints)) {
      await this.#options.evidence.remove(endpoints);
      this.#options.report();
      return;
    }
    if (scope === "group" && !isOver) await this.#keep(verdict, endpoints);
    if (isTrusted(verdict, watched) || (listed.size > 0 && sole === "")) {
      await this.#end(verdict, "answered");
      this.#options.verdicts.hurry(cluster, this.#options.clock.now(), this.#options.random);
      return;
    }
    for (const one of endpoints) verdict.endpoints.delete(endpointName(one));
    verdict.except = sole;
    [verdict.probes, verdict.probeAt] = [0, this.#options.clock.now()];
    this.#options.report();
  }

  /** Endpoints of a group that were shown silent, and are not among those that clients use again, get verdicts of their own. */
  async #keep(verdict: Verdict, used: readonly TcpEndpoint[]): Promise<void> {
    const { clock, events, evidence, probes, verdicts } = this.#options;
    const now = clock.now();
    for (const one of used) verdict.endpoints.delete(endpointName(one));
    for (const [name, one] of verdict.endpoints) {
      if (!verdict.shown.has(name)) continue;
      if (!verdicts.hasRoom({ scope: "endpoint", namespace: verdict.namespace })) {
        events.limited(verdict.namespace, MOST_OF_NAMESPACE);
        return;
      }
      const isProbed = verdict.hasClosed && !probes.isClosed(one);
      const owner = { ...verdict, isPartial: false, isTrial: verdict.isTrial && !isProbed };
      const proposed = verdicts.propose("endpoint", name, owner, [one], now);
      const expires = isProbed ? proposed.terms.expires : expiryOf(verdict) - now;
      const kept = { ...proposed, terms: { ...proposed.terms, expires } };
      // Otherwise the kernel's element stays: a restart finds the shown ones as a group.
      if (isProbed) {
        await evidence.remove([one]);
        await evidence.add(elementsOf(kept, expires));
      }
      if (verdicts.begin(kept)) events.silent(kept);
      verdict.endpoints.delete(name);
    }
  }

  /** The other endpoints of a verdict on a cluster are dropped from the kernel with it. */
  async #end(verdict: Verdict, why: VerdictEnd): Promise<void> {
    const { clock, evidence } = this.#options;
    this.ended(verdict, why);
    await evidence.remove([...verdict.endpoints.values()]);
    if (why !== "answered") return;
    // What was sent before clients had moved says nothing about now.
    const movedAge = clock.now() - verdict.since - MOVED_MS;
    const before = ((await evidence.overdue()) ?? []).filter(
      (one) => one.age >= movedAge && verdict.endpoints.has(endpointName(one)),
    );
    await evidence.forget(before);
  }

  /** A verdict has ended: the kernel has dropped it, or another replaces it. */
  ended(verdict: Verdict, why: VerdictEnd): void {
    const { clock, events } = this.#options;
    const now = clock.now();
    if (!this.#options.verdicts.end(verdict, why, now)) return;
    events.ended(verdict, why, now - verdict.since);
    // What follows is reported with the verdict on the cluster.
    if (why !== "replaced") this.#options.report();
  }
}

/** True if what answers is certainly of the verdict's cluster: one of several namespaces may list what always does. */
function isTrusted({ cluster, scope }: Verdict, watched: WatchedEndpoints): boolean {
  return scope !== "cluster" || watched.isDeclared(cluster) || watched.namespacesOf(cluster) < 2;
}
