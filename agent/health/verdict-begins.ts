import { backoff } from "../../common/backoff.ts";
import { isOnlyOf } from "./clusters.ts";
import type { Finding } from "./evaluate.ts";
import type { SilentEndpoint, TcpEndpoint } from "./evidence.ts";
import { elementsOf, endpointName, expiryOf, type Verdict } from "./verdict.ts";
import { PROBE, type VerdictEnds, type VerdictEndsOptions } from "./verdict-ends.ts";
import { MOST_OF_NAMESPACE } from "./verdicts.ts";
import type { Group, WatchedEndpoints } from "./watched-endpoints.ts";

/** What the beginnings of verdicts need. */
export interface VerdictBeginsOptions extends Omit<VerdictEndsOptions, "install"> {
  readonly ends: VerdictEnds;
}

/** Endpoints of a cluster or group that the kernel keeps: namespaces share its set. */
export const MOST_KEPT = 64;
/** Endpoints in the kernel's set beyond which suspected ones are not added: the rest of its 65,536 is for those that clients have tried. */
const MOST_SUSPECTED = 16_384;

/** Begins verdicts, and adds to them what is found silent later. */
export class VerdictBegins {
  readonly #options: VerdictBeginsOptions;
  /** What the kernel remembers of verdicts that expired, by name; undefined until this check needs it. */
  #remembered: Map<string, SilentEndpoint> | undefined;

  constructor(options: VerdictBeginsOptions) {
    this.#options = options;
  }

  /** A check begins. What the kernel remembers is read at most once in it: one namespace can have 64 verdicts begin at once, and the set has thousands of elements. */
  beginCheck(): void {
    this.#remembered = undefined;
  }

  /** Begins verdicts on endpoints and groups, except of clusters that are examined. Returns the endpoints of those that have no room. */
  async beginAll(
    found: readonly Finding[],
    watched: WatchedEndpoints,
    isExamined: (cluster: string) => boolean,
  ): Promise<TcpEndpoint[]> {
    const { clock, report, verdicts } = this.#options;
    const now = clock.now();
    const refused: TcpEndpoint[] = [];
    try {
      for (const { scope, group, endpoints: tried, shown, except, isTrial } of found) {
        if (this.#isCovered(group, tried)) continue;
        const present = verdicts.ofGroup(group.name);
        // All of the cluster may be silent: the other probes end at the same time.
        if (present === undefined && isExamined(group.cluster)) continue;
        // First, as a namespace may have thousands of silent groups, and to look up the members of each is a walk over all slices.
        if (present === undefined && !this.#hasRoom({ scope, namespace: group.namespace })) {
          refused.push(...tried);
          continue;
        }
        const members = scope === "group" ? this.#membersOf(group, watched, except) : [];
        // Of what another namespace lists, too, only what was shown silent itself.
        const silent = shown.union(new Set(members.map(endpointName)));
        const isSilent = (one: TcpEndpoint) => scope !== "group" || silent.has(endpointName(one));
        const endpoints = tried.filter(isSilent);
        const [first] = endpoints;
        if (first === undefined) continue;
        // Of a rolling update, or such as another namespace lists, too.
        if (present !== undefined) {
          await this.#widen(present, endpoints, shown, members);
          continue;
        }
        const subject = scope === "group" ? group.name : endpointName(first);
        const { cluster, namespace } = group;
        // No probe ends a verdict on a closed endpoint, which may be alive: nobody has called it since the first one was found.
        const hasClosed = !isTrial && members.some((one) => this.#options.probes.isClosed(one));
        // Most of it may be dead, and nothing of the rest have answered yet: the next attempts may cost each connection.
        const hasAnswers = except !== undefined && except.size > 0;
        const owner = {
          ...{ cluster, namespace },
          ...{ isPartial: hasAnswers || hasClosed, isTrial: isTrial || hasClosed },
        };
        // Those that were tried come first: most is known of them.
        const kept = distinct([...endpoints, ...this.#keepable(members)]).slice(0, MOST_KEPT);
        const proposed = verdicts.propose(scope, subject, owner, kept, now, shown);
        const verdict = { ...proposed, members, hasClosed, isPartial: except !== undefined };
        if (!(await this.begin(verdict, endpoints))) refused.push(...endpoints);
      }
    } finally {
      // Some may have begun, or been replaced, before one failed.
      if (found.length > 0) report();
    }
    return refused;
  }

  /** Begins a verdict. `tried`: the endpoints whose unanswered SYNs it has used. False if its namespace has enough. */
  async begin(verdict: Verdict, tried: readonly TcpEndpoint[]): Promise<boolean> {
    const { clock, ends, evidence, events, random, verdicts } = this.#options;
    if (!this.#hasRoom(verdict)) return false;
    const replaced = verdicts.within(verdict);
    for (const one of replaced) {
      for (const name of one.shown) verdict.shown.add(name);
      ends.ended(one, "replaced");
    }
    await evidence.remove(replaced.flatMap(({ endpoints }) => [...endpoints.values()]));
    await this.#recall(verdict, [...verdict.members, ...verdict.endpoints.values()]);
    // First in the kernel: what it lacks counts as answered.
    await evidence.add(elementsOf(verdict, expiryOf(verdict) - clock.now()));
    await evidence.forget(tried);
    verdict.probeAt = clock.now() + backoff(1, PROBE, random());
    if (verdicts.begin(verdict)) events.silent(verdict);
    return true;
  }

  #hasRoom(verdict: Pick<Verdict, "namespace" | "scope">): boolean {
    const { events, verdicts } = this.#options;
    const hasRoom = verdicts.hasRoom(verdict);
    if (!hasRoom) events.limited(verdict.namespace, MOST_OF_NAMESPACE);
    return hasRoom;
  }

  /** Clients call these endpoints although all of their cluster or group is silent: an answer of each ends that, and those that give none are shown. */
  async join(findings: readonly Finding[]): Promise<void> {
    const { ends, report, verdicts } = this.#options;
    let hasShown = false;
    for (const { group, endpoints, reason, shown } of findings) {
      if (reason === "too-early") continue;
      const namespaces = new Set([group.namespace]);
      for (const one of endpoints) {
        const verdict = verdicts.on(one, group.cluster, namespaces);
        if (verdict === undefined) continue;
        const name = endpointName(one);
        if (shown.has(name) && verdict.answering.size > 0) ends.answers(verdict, [], [one]);
        if (verdict.scope === "endpoint") continue;
        if (shown.has(name) && !verdict.shown.has(name)) {
          await this.#show(verdict, new Set([name]));
          hasShown ||= verdict.scope === "group";
        }
        if (!isOnlyOf(namespaces, verdict.except)) await this.#keep(verdict, [one]);
      }
    }
    if (hasShown) report();
  }

  #isCovered({ cluster, namespace }: Group, endpoints: readonly TcpEndpoint[]): boolean {
    const namespaces = new Set([namespace]);
    return endpoints.every((one) => this.#options.verdicts.on(one, cluster, namespaces));
  }

  /** All endpoints of a group, except those that a slice of another namespace also lists and no probe has shown silent: no client of this group has tried them. */
  #membersOf(group: Group, watched: WatchedEndpoints, except?: ReadonlySet<string>): TcpEndpoint[] {
    const { members, namespace } = group;
    const { probes } = this.#options;
    const hasReach = ["works", "assumed"].includes(probes.reachOf(group));
    const all = [...members].filter(([name]) => !except?.has(name)).map(([, one]) => one);
    const others = watched.groupsOf(all).filter((one) => one.namespace !== namespace);
    return all.filter((one) => {
      const name = endpointName(one);
      const isShared = others.some((other) => other.members.has(name));
      const isSilent = probes.records.get(name)?.result === "silent";
      return !isShared || (isSilent && hasReach && !probes.isClosed(one));
    });
  }

  /** More endpoints of a group, most of which is silent already. `members`: those that are silent with them. */
  async #widen(
    verdict: Verdict,
    endpoints: readonly TcpEndpoint[],
    shown: ReadonlySet<string>,
    members: readonly TcpEndpoint[],
  ): Promise<void> {
    const { evidence, verdicts } = this.#options;
    const namespaces = new Set([verdict.namespace]);
    const added = endpoints.filter((one) => !verdicts.on(one, verdict.cluster, namespaces));
    verdicts.widen(verdict, [...added, ...members]);
    await this.#show(verdict, shown);
    await this.#keep(verdict, [...added, ...this.#keepable(members, verdict)]);
    await evidence.forget(added);
  }

  /** Endpoints of a group that no client has tried, as far as there is room: the kernel's set has one element for each endpoint, and all namespaces share it. */
  #keepable(members: readonly TcpEndpoint[], verdict?: Verdict): readonly TcpEndpoint[] {
    const { verdicts } = this.#options;
    if (verdicts.kept >= MOST_SUSPECTED) return [];
    return members.filter((one) => [undefined, verdict].includes(verdicts.groupOn(one)));
  }

  /** The kernel keeps these endpoints of a verdict, too, as far as there is room. */
  async #keep(verdict: Verdict, all: readonly TcpEndpoint[]): Promise<void> {
    const { clock, evidence } = this.#options;
    const room = Math.max(0, MOST_KEPT - verdict.endpoints.size);
    const added = distinct(all)
      .filter((one) => !verdict.endpoints.has(endpointName(one)))
      .slice(0, room);
    if (added.length === 0) return;
    await this.#recall(verdict, added);
    await evidence.add(elementsOf(verdict, expiryOf(verdict) - clock.now(), added));
    for (const one of added) verdict.endpoints.set(endpointName(one), one);
  }

  /** Those of these endpoints that were shown silent before, and have not answered since, are shown. */
  async #recall(verdict: Verdict, all: readonly TcpEndpoint[]): Promise<void> {
    const { evidence } = this.#options;
    this.#remembered ??= expiredIn(await evidence.silent());
    const remembered = this.#remembered;
    const expired = distinct(all).flatMap((one) => remembered.get(endpointName(one)) ?? []);
    for (const one of expired) remembered.delete(endpointName(one));
    // Those that have answered since the set was read are gone.
    for (const one of await evidence.take(expired)) verdict.shown.add(endpointName(one));
  }

  /** Endpoints of a verdict that were only suspected are shown silent. */
  async #show(verdict: Verdict, names: ReadonlySet<string>): Promise<void> {
    const { clock, evidence } = this.#options;
    const shown = names.difference(verdict.shown);
    for (const name of shown) verdict.shown.add(name);
    const kept = [...shown].flatMap((name) => verdict.endpoints.get(name) ?? []);
    if (kept.length === 0) return;
    // The kernel does not change an element that it has.
    await evidence.remove(kept);
    await evidence.add(elementsOf(verdict, expiryOf(verdict) - clock.now(), kept));
  }
}

function expiredIn(found: readonly SilentEndpoint[]): Map<string, SilentEndpoint> {
  const expired = found.filter(({ isExpired }) => isExpired);
  return new Map(expired.map((one) => [endpointName(one), one]));
}

function distinct(all: readonly TcpEndpoint[]): TcpEndpoint[] {
  return [...new Map(all.map((one) => [endpointName(one), one])).values()];
}
