import { isDeepStrictEqual } from "node:util";
import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import type { Clock } from "../../common/clock.ts";
import { TimeSlice } from "../../common/event-loop.ts";
import { Slots } from "../../common/queue/slots.ts";
import type {
  ConnectionCounters,
  DestinationCount,
  HeldPort,
  KernelReader,
  Programmed,
} from "../backends/backend.ts";
import { type Limits, UNLIMITED } from "../backends/backend.ts";
import type { KernelTable } from "../backends/kernel-table.ts";
import type { NodeFact, NodeObservation } from "../model/facts.ts";
import { Model } from "../model/model.ts";
import type { RuleLimits } from "../model/rule-budget.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import type { Source, SourceEvents } from "../sources/source.ts";
import { CheckInterval } from "./check-interval.ts";
import { Plans } from "./desired-state.ts";
import { NodeShifts } from "./node-shifts.ts";
import { Reconciler } from "./reconciler.ts";
import type { Follower, ReconcilerEvents } from "./reconciler-events.ts";
import { UnlistedEndpoints } from "./unlisted-endpoints.ts";

/** Receives what the agent decided and did. */
export interface AgentEvents extends ReconcilerEvents {
  /** An import was planned; undefined if nothing is known of it any more. */
  planned(key: ObjectKey, plan: ImportPlan | undefined): void;
  /** Everything that is wrong with one object from now on; an empty list clears it. */
  problems(object: string, problems: readonly Problem[]): void;
  /** Every source has listed: the kernel is written to from now on. */
  listed(): void;
}

/** The progress of one family. */
export interface FamilyProgress {
  /** True once the kernel was at the desired state. */
  readonly synced: boolean;
  /** Services whose rules stay although the first lists lack them; absent if there are none. */
  readonly retained?: number;
  /** When the kernel was last known to be at the desired state, by a write or a check; absent if it never was. */
  readonly inSyncAt?: number;
  /** When the oldest change that is not live was observed; absent if all are live. */
  readonly oldestWaiting?: number;
  /** When the present step of the running pass began; absent between passes. */
  readonly stepSince?: number;
}

/** What the agent is made of. */
export interface AgentOptions {
  /** The node, from what was observed of it. PURE. When the result changes, every import is planned again. */
  readonly node: (observed: NodeObservation) => NodeFact;
  readonly sources: readonly Source[];
  /** One for each family that is programmed. */
  readonly tables: ReadonlyMap<Family, KernelTable>;
  /** Finds out what the node supports, by trying; absent if it supports everything. Never rejects. */
  readonly limits?: (family: Family, stop: AbortSignal) => Promise<Limits>;
  /** The most that imports may cost; absent: no limits. */
  readonly ruleLimits?: RuleLimits;
  /** What the kernel of a family counts, where it does. */
  readonly counters?: ReadonlyMap<Family, ConnectionCounters>;
  /** Read the kernel of a family, for pages. */
  readonly readers?: ReadonlyMap<Family, KernelReader>;
  /** Followers of what the kernel of a family has accepted. */
  readonly followers?: ReadonlyMap<Family, Follower>;
  readonly clock: Clock;
  /** Wall-clock time in milliseconds since 1970, for windows in which nodes move one by one. */
  readonly today: () => number;
  /** Milliseconds of processor time that this process and its programs have used; absent: durations count. */
  readonly processorTime?: () => number;
  readonly random: () => number;
  readonly events: AgentEvents;
}

/**
 * The straight line: sources -> model -> plans -> reconcilers. Changes of one turn of the event loop are planned together.
 * Nothing is planned, so nothing is written, before every source has listed. Many changes are planned in slices, and
 * newer changes are planned before the rest of them.
 */
export class Agent {
  readonly #options: AgentOptions;
  /** Listing all rules is costly: any number of readers cause one at a time. */
  readonly #reading = new Slots(1);
  readonly #model: Model;
  readonly #plans: Plans;
  readonly #unlistedEndpoints: UnlistedEndpoints;
  readonly #shifts: NodeShifts;
  readonly #reconcilers = new Map<Family, Reconciler>();
  readonly #unlisted: Set<Source>;
  /** Imports that are still to be planned, each with the time of its oldest change. */
  readonly #queue = new Map<ObjectKey, number>();
  #observed: NodeObservation = { properties: new Map() };
  #node: NodeFact;
  #scheduled = false;
  #opened = false;
  #stopped = false;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#node = options.node(this.#observed);
    this.#unlisted = new Set(options.sources);
    const { clock, random, events, followers, ruleLimits } = options;
    const { limits = async () => UNLIMITED } = options;
    this.#model = new Model(this.#node.clusterSetCidrs, ruleLimits);
    const replan = (key: ObjectKey): void => {
      this.#enqueue(key, clock.now());
      this.#schedule();
    };
    this.#unlistedEndpoints = new UnlistedEndpoints(clock, replan);
    const shifts = { node: this.#node.name, clock, today: options.today, moved: replan };
    this.#shifts = new NodeShifts(shifts);
    this.#plans = new Plans(this.#model, this.#node, this.#unlistedEndpoints, this.#shifts);
    const interval = new CheckInterval();
    for (const [family, table] of options.tables) {
      const follower = followers?.get(family);
      const reconciler = new Reconciler({
        ...{ family, table, interval, clock, random, events },
        processorTime: options.processorTime,
        desired: this.#plans.of(family),
        limits: (stop) => limits(family, stop),
        ...(follower && { follower }),
        found: (programmed) => this.#settle(programmed),
        ...(ruleLimits && { mostOfNamespace: ruleLimits.maxRulesPerImport }),
      });
      this.#reconcilers.set(family, reconciler);
    }
  }

  start(): void {
    for (const source of this.#options.sources) source.start(this.#eventsOf(source));
    for (const reconciler of this.#reconcilers.values()) reconciler.probe();
  }

  /** Stops reading and writing; the kernel keeps its rules. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unlistedEndpoints.stop();
    this.#shifts.stop();
    await Promise.all(this.#options.sources.map((source) => source.stop()));
    await Promise.all([...this.#reconcilers.values()].map((reconciler) => reconciler.stop()));
  }

  /** Checks the kernel now, instead of at the end of the interval. */
  checkSoon(): void {
    for (const reconciler of this.#reconcilers.values()) reconciler.checkSoon();
  }

  /** True once every source has listed. */
  get listed(): boolean {
    return this.#unlisted.size === 0;
  }

  /** The progress of each family; times are the clock's. */
  get families(): ReadonlyMap<Family, FamilyProgress> {
    return new Map(
      [...this.#reconcilers].map(
        ([family, { synced, retained, inSyncAt, oldestWaiting, stepSince }]) => [
          family,
          {
            synced,
            ...(inSyncAt !== undefined && { inSyncAt }),
            ...(retained > 0 && { retained }),
            ...(oldestWaiting !== undefined && { oldestWaiting }),
            ...(stepSince !== undefined && { stepSince }),
          },
        ],
      ),
    );
  }

  /** The facts as they are now; undefined until every source has listed. */
  get facts(): (Pick<Model, "imports" | "slices"> & { readonly node: NodeFact }) | undefined {
    if (!this.listed) return undefined;
    const { imports, slices } = this.#model;
    return { imports, slices, node: this.#node };
  }

  /** Every known import, by name. */
  keys(): ObjectKey[] {
    return [...this.#model.keys()].sort();
  }

  /** The plan of one import as of now, with its quarantined ports; undefined if nothing is known of the import. */
  plan(key: ObjectKey): ImportPlan | undefined {
    const plan = this.#plans.plan(key);
    if (plan === undefined) return undefined;
    const setAside = [...this.#reconcilers].flatMap(([family, reconciler]) =>
      reconciler
        .quarantined(key)
        .map(({ servicePort, protocol, reason }) => ({ servicePort, protocol, reason, family })),
    );
    return { ...plan, ...(setAside.length > 0 && { setAside }) };
  }

  /** What the kernel holds for the planned services of one import, read now; one reading at a time. Rejects as `KernelTable.read` does. */
  held(key: ObjectKey): Promise<readonly HeldPort[]> {
    return this.#reading.hold(async () => {
      const services = this.plan(key)?.services ?? [];
      const held = [...(this.#options.readers ?? [])].map(([family, reader]) =>
        reader.held(services.filter((service) => service.family === family)),
      );
      return (await Promise.all(held)).flat();
    });
  }

  /** What the kernel counts for the services of one import; undefined if it counts nothing. */
  async counts(key: ObjectKey): Promise<readonly DestinationCount[] | undefined> {
    const { counters } = this.#options;
    if (counters === undefined || counters.size === 0) return undefined;
    const services = this.plan(key)?.services ?? [];
    const counts = [...counters].map(([family, counter]) =>
      counter.counts(services.filter((service) => service.family === family)),
    );
    return (await Promise.all(counts)).flat();
  }

  #eventsOf(source: Source): SourceEvents {
    const change = (apply: () => void) => {
      apply();
      this.#schedule();
    };
    return {
      importChanged: (fact, at) => change(() => this.#model.setImport(fact, at)),
      importRemoved: (key, at) => change(() => this.#model.removeImport(key, at)),
      sliceChanged: (fact, at) => change(() => this.#model.setSlice(fact, at)),
      sliceRemoved: (key, at) => change(() => this.#model.removeSlice(key, at)),
      vipHeld: (vip, holder, at) => change(() => this.#model.setHolder(vip, holder, at)),
      nodeObserved: (part, at) => this.#observe({ ...this.#observed, ...part }, at),
      silenceChanged: (silence, at) => change(() => this.#model.setSilence(silence, at)),
      problems: (object, problems) => this.#options.events.problems(object, problems),
      listed: () => {
        if (!this.#unlisted.delete(source) || !this.listed || this.#stopped) return;
        this.#model.listed();
        this.#options.events.listed();
        this.#schedule();
      },
    };
  }

  #observe(observed: NodeObservation, at: number): void {
    this.#observed = observed;
    const node = this.#options.node(observed);
    if (isDeepStrictEqual(node, this.#node)) return;
    this.#node = node;
    this.#plans.setNode(node);
    for (const key of this.#model.keys()) this.#enqueue(key, at);
    this.#schedule();
  }

  /** The rules of an earlier run show which import was the first to hold a VIP. */
  #settle(programmed: Programmed): void {
    const at = this.#options.clock.now();
    for (const vip of this.#model.contested()) {
      // Planned again now: the first write follows.
      for (const key of this.#model.settle(vip, programmed.holder(vip), at)) this.#plans.plan(key);
    }
    this.#schedule();
  }

  #enqueue(key: ObjectKey, at: number): void {
    this.#queue.set(key, Math.min(at, this.#queue.get(key) ?? at));
  }

  #schedule(): void {
    if (this.#scheduled || !this.listed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#stopped) this.#planSome();
    });
  }

  /** Plans recent changes for one slice, and older ones for another: neither starves the other. */
  #planSome(): void {
    for (const queue of [this.#model.takeDirty(), this.#queue]) {
      const slice = new TimeSlice(this.#options.clock);
      for (const [key, at] of queue) {
        const since = Math.min(at, this.#queue.get(key) ?? at);
        queue.delete(key);
        this.#queue.delete(key);
        const plan = this.plan(key);
        // Until the kernel was read, it may show which import was the first.
        const isContested = plan?.vips.some(({ reason }) => reason === "vip-contested");
        if (this.#opened || !isContested) this.#options.events.planned(key, plan);
        for (const reconciler of this.#reconcilers.values()) reconciler.changed(key, since);
        if (slice.expired) break;
      }
      if (queue === this.#queue) continue;
      for (const [key, at] of queue) this.#enqueue(key, at);
    }
    if (this.#queue.size > 0) this.#schedule();
    else this.#open();
  }

  /** Starts the reconcilers once everything was planned: what is reported of the first pass is then true of all imports. */
  #open(): void {
    if (this.#opened) return;
    this.#opened = true;
    for (const reconciler of this.#reconcilers.values()) reconciler.start();
  }
}
