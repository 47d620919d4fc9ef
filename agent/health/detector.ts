import { evaluate, type Finding } from "./evaluate.ts";
import { type Answered, isLate, type Overdue } from "./evidence.ts";
import { Examinations, keepUntil } from "./examinations.ts";
import { LateAnswers } from "./late-answers.ts";
import { endpointName } from "./verdict.ts";
import { VerdictBegins, type VerdictBeginsOptions } from "./verdict-begins.ts";
import { WaitingClients } from "./waiting-clients.ts";
import type { Group, WatchedEndpoints } from "./watched-endpoints.ts";

/** What a detector needs. */
export interface DetectorOptions extends VerdictBeginsOptions {
  /** Follows work in progress, which may reject. */
  readonly follow: (work: Promise<unknown>) => void;
  readonly stop: AbortSignal;
}

/**
 * Milliseconds for which an endpoint that nobody lists is not considered again, doubled each time: it may be listed again soon, as after an update of its slice. And one
 * whose namespace has too many verdicts.
 */
const SKIPPED_MS = { unlisted: { min: 1_000, max: 10_000 }, limited: 30_000 };

/** From evidence to verdicts: has probed what `evaluate` asks for, and begins the verdicts that it finds. */
export class Detector {
  readonly #options: DetectorOptions;
  readonly #begins: VerdictBegins;
  readonly #examinations: Examinations;
  readonly #late = new LateAnswers();
  readonly #waiting = new WaitingClients();
  /** Endpoints that are not considered, and until when. */
  readonly #skipped = new Map<string, number>();
  /** Endpoints that nobody listed, and for how long they were skipped. */
  readonly #unlisted = new Map<string, number>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DetectorOptions) {
    this.#options = options;
    this.#begins = new VerdictBegins(options);
    this.#examinations = new Examinations({ ...options, begins: this.#begins });
  }

  /** True if the clients that were answered matter for the next check. */
  needsAnswers(overdue: readonly Overdue[]): boolean {
    return overdue.some(isLate) || this.#late.any || this.#waiting.any || this.#examinations.any;
  }

  /** True if connections of the group's namespace to its cluster were answered late in the last minute. */
  isLossy(group: Group): boolean {
    return this.#late.isLossy(group, this.#options.clock.now());
  }

  /** Evaluates what is overdue. `isDelayed`: answers may not have been counted yet, so that it is only probed. */
  async look(
    found: readonly Overdue[],
    answered: readonly Answered[],
    watched: WatchedEndpoints,
    isDelayed = false,
  ): Promise<void> {
    const { clock, ends, probes, verdicts } = this.#options;
    const now = clock.now();
    this.#begins.beginCheck();
    const overdue = found.filter((one) => (this.#skipped.get(endpointName(one)) ?? now) <= now);
    const groups = this.#groupsOf(overdue.filter(isLate), watched);
    const passed = now - this.#lookedAt;
    this.#lookedAt = now;
    this.#late.observe({ overdue, answered, groups, now, passed });
    const isLossy = (group: Group) => this.isLossy(group);
    this.#waiting.observe({ overdue, answered, groups, isLossy, now });
    if (groups.length > 0) {
      const findings = evaluate({
        ...{ now, overdue, answered, groups, probes: probes.records },
        hasWaited: (one, client, group) =>
          this.#waiting.hasWaited(one, client, isLossy(group), now),
        rejectedAt: (group, client) => this.#waiting.rejectedAt(group, client, now),
        reachOf: (group) => probes.reachOf(group),
        isSeen: (group) => probes.isBlind(group),
        isLossy,
        mayBeLate: (group) => this.#late.mayBeLate(group, now),
        hasExpired: (name) =>
          verdicts.hasExpired(name, now) || verdicts.ofGroup(name)?.isPartial === false,
        shownAt: (one) => ends.shownAt(one),
      });
      if (!isDelayed) {
        await this.#begins.join(findings);
        await this.#examinations.conclude(found, answered, watched);
        const silent = findings.filter((one) => one.isSilent && !this.#isContradicted(one));
        const isExamined = (cluster: string) => this.#examinations.has(cluster);
        for (const one of await this.#begins.beginAll(silent, watched, isExamined))
          keepUntil(this.#skipped, endpointName(one), now + SKIPPED_MS.limited);
        const clusters = new Set(silent.map(({ group }) => group.cluster));
        await this.#examinations.concludeFromVerdicts(clusters, watched);
      }
      this.#examinations.begin(findings, overdue, answered, watched);
    } else if (!isDelayed) await this.#examinations.conclude(found, answered, watched);
  }

  #groupsOf(late: readonly Overdue[], watched: WatchedEndpoints): Group[] {
    if (late.length === 0) return [];
    const groups = watched.groupsOf(late);
    const listed = new Set(groups.flatMap(({ members }) => [...members.keys()]));
    const { min, max } = SKIPPED_MS.unlisted;
    for (const name of late.map(endpointName)) {
      const before = this.#unlisted.get(name) ?? min / 2;
      this.#unlisted.delete(name);
      if (listed.has(name)) continue;
      const pause = Math.min(2 * before, max);
      keepUntil(this.#unlisted, name, pause);
      keepUntil(this.#skipped, name, this.#options.clock.now() + pause);
    }
    return groups;
  }

  /** Clients alone say nothing about an endpoint that answers the node, such as one that a tenant lists for a cluster that does not exist. */
  #isContradicted({ reason, endpoints }: Finding): boolean {
    return (
      reason === "clients-unanswered" &&
      endpoints.some((one) => this.#examinations.hasAnsweredBefore(one))
    );
  }
}
