import { isDeepStrictEqual } from "node:util";
import { FAMILIES, type Family } from "../../api/address.ts";
import { contains } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import type { Clock } from "../../common/clock.ts";
import type { Backend, DestinationCount, Transaction } from "../backends/backend.ts";
import type { NodeFact, NodeSight } from "../model/facts.ts";
import { Model } from "../model/model.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { planImport } from "../plan/plan.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { Source, SourceEvents } from "../sources/source.ts";
import { Backlog } from "./backlog.ts";
import type { Follower } from "./follower.ts";
import { Pace } from "./pace.ts";
import { Reconciler } from "./reconciler.ts";
import type { ReconcilerEvents } from "./reconciler-events.ts";
import { Slices } from "./slices.ts";
import type { Wanted } from "./wanted.ts";

/** Who is told what the agent decided, and what became of it. */
export interface AgentEvents extends ReconcilerEvents {
  /** An import was planned anew; undefined if nothing is known of it any more. */
  planned(key: ObjectKey, plan: ImportPlan | undefined): void;
  /** All that is wrong with one object from now on; an empty list clears it. */
  problems(object: string, problems: readonly Problem[]): void;
  /** Every source has listed: from now on the kernel is written to. */
  listed(): void;
}

/** A backend of any kind: what it believes and how it writes is its own business. */
// biome-ignore lint/suspicious/noExplicitAny: the three types belong together, and nobody here looks inside
export type AnyBackend = Backend<any, any, Transaction>;

/** How far one family is. */
export interface FamilyProgress {
  /** True once the kernel has been as planned. */
  readonly synced: boolean;
  /** Services whose rules stay for a while, because most of what the kernel has would go at once; absent if none do. */
  readonly doubted?: number;
  /** When the oldest change that is not live was learned of; absent if all are live. */
  readonly oldestWaiting?: number;
  /** When the pass that is under way began; absent between passes. */
  readonly passSince?: number;
}

/** What the agent is made of. */
export interface AgentOptions {
  /**
   * What this node is, from what is seen of it: called at the start, and whenever the sight has changed. If the
   * answer is another one, everything is planned anew. PURE.
   */
  readonly node: (sight: NodeSight) => NodeFact;
  readonly sources: readonly Source[];
  /** One backend for each family that is programmed. */
  readonly backends: ReadonlyMap<Family, AnyBackend>;
  /** Who follows what the kernel of a family has accepted. */
  readonly followers?: ReadonlyMap<Family, Follower>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: AgentEvents;
}

/**
 * The straight line: sources -> model -> plan -> reconcilers. Changes of one turn of the event loop are
 * planned together; nothing is planned, so nothing is written, before every source has listed. Many changes
 * are planned in slices, and what changes meanwhile goes before the rest of them.
 */
export class Agent {
  readonly #options: AgentOptions;
  readonly #model: Model;
  readonly #reconcilers = new Map<Family, Reconciler<unknown, unknown, Transaction>>();
  readonly #unlisted: Set<Source>;
  readonly #backlog = new Backlog();
  #sight: NodeSight = { properties: new Map() };
  #node: NodeFact;
  #scheduled = false;
  #opened = false;
  #stopped = false;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#node = options.node(this.#sight);
    this.#unlisted = new Set(options.sources);
    const { clock, random, events, followers } = options;
    const onNode = [...options.backends.values()].some(({ vipsOnNode }) => vipsOnNode === true);
    const ranges = this.#node.clusterSetCidrs;
    // No slice may list what lies in the ClusterSet CIDRs (parse-slice.ts).
    this.#model = new Model((vip) => onNode && !ranges.some((cidr) => contains(cidr, vip)));
    const pace = new Pace();
    for (const [family, backend] of options.backends) {
      const wanted = this.#wanted(family);
      const follower = followers?.get(family);
      const what = { family, backend, wanted, pace, clock, random, events };
      this.#reconcilers.set(family, new Reconciler({ ...what, ...(follower && { follower }) }));
    }
  }

  start(): void {
    for (const source of this.#options.sources) source.start(this.#eventsOf(source));
  }

  /** Stops listening and writing; the kernel keeps its rules. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#options.sources.map((source) => source.stop()));
    await Promise.all([...this.#reconcilers.values()].map((reconciler) => reconciler.stop()));
  }

  /** Says that no other backend's rules lead connections on any more. */
  alone(): void {
    for (const reconciler of this.#reconcilers.values()) reconciler.alone();
  }

  /** True once every source has listed. */
  get listed(): boolean {
    return this.#unlisted.size === 0;
  }

  /** How far each family is; times are the clock's. */
  get families(): ReadonlyMap<Family, FamilyProgress> {
    return new Map(
      [...this.#reconcilers].map(([family, { synced, doubted, oldestWaiting, passSince }]) => [
        family,
        {
          synced,
          ...(doubted > 0 && { doubted }),
          ...(oldestWaiting !== undefined && { oldestWaiting }),
          ...(passSince !== undefined && { passSince }),
        },
      ]),
    );
  }

  /** Every import that anything is known of, by name. */
  keys(): ObjectKey[] {
    return [...this.#model.keys()].sort();
  }

  /** The plan of one import as of now, and what of it the kernel refuses; undefined if nothing is known of it. */
  plan(key: ObjectKey): ImportPlan | undefined {
    const view = this.#model.view(key);
    if (view === undefined) return undefined;
    const setAside = [...this.#reconcilers].flatMap(([family, reconciler]) =>
      reconciler
        .setAside(key)
        .map(({ importKey: _import, error: _error, ...port }) => ({ ...port, family })),
    );
    return { ...planImport(view, this.#node), ...(setAside.length > 0 && { setAside }) };
  }

  /** What the kernel counts for the services of one import; undefined if no backend counts anything. */
  async counts(key: ObjectKey): Promise<readonly DestinationCount[] | undefined> {
    const services = this.plan(key)?.services ?? [];
    const found: DestinationCount[][] = [];
    for (const [family, backend] of this.#options.backends) {
      const own = services.filter((service) => service.family === family);
      if (backend.counts !== undefined) found.push([...(await backend.counts(own))]);
    }
    return found.length === 0 ? undefined : found.flat();
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
      nodeChanged: (object, at) => {
        const { object: _gone, ...rest } = this.#sight;
        this.#see({ ...rest, ...(object !== undefined && { object }) }, at);
      },
      addressesChanged: (addresses, at) => this.#see({ ...this.#sight, addresses }, at),
      propertiesChanged: (properties, at) => this.#see({ ...this.#sight, properties }, at),
      problems: (object, problems) => this.#options.events.problems(object, problems),
      listed: () => {
        if (!this.#unlisted.delete(source) || !this.listed || this.#stopped) return;
        this.#options.events.listed();
        this.#schedule();
      },
    };
  }

  #see(sight: NodeSight, at: number): void {
    this.#sight = sight;
    const node = this.#options.node(sight);
    if (isDeepStrictEqual(node, this.#node)) return;
    this.#node = node;
    for (const key of this.#model.keys()) this.#backlog.add(key, at);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || !this.listed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#stopped) this.#planSome();
    });
  }

  /** Plans for one slice what has just changed, and for one what is left from before: neither starves the other. */
  #planSome(): void {
    for (const queue of [new Backlog(this.#model.takeDirty()), this.#backlog]) {
      const slices = new Slices(this.#options.clock);
      for (const [key, at] of queue.drain()) {
        const since = Math.min(at, this.#backlog.take(key) ?? at);
        this.#options.events.planned(key, this.plan(key));
        for (const reconciler of this.#reconcilers.values()) reconciler.changed(key, since);
        if (slices.due) break;
      }
      for (const [key, at] of queue === this.#backlog ? [] : queue.drain()) {
        this.#backlog.add(key, at);
      }
    }
    if (this.#backlog.size > 0) this.#schedule();
    else this.#open();
  }

  /** Only when everything has been planned once: what is said of the first pass is then true of all imports. */
  #open(): void {
    if (this.#opened) return;
    this.#opened = true;
    for (const reconciler of this.#reconcilers.values()) reconciler.start();
  }

  #wanted(family: Family): Wanted {
    return {
      keys: () => this.#model.keys(),
      told: (key) => this.#model.hasSlices(key),
      services: (key) => {
        const view = this.#model.view(key);
        const node = this.#node;
        return () => (view === undefined ? [] : servicesOf(planImport(view, node), family));
      },
    };
  }
}

function servicesOf(plan: ImportPlan, family: Family): VirtualService[] {
  return plan.services.filter((service) => service.family === family);
}

/** The families, in order, that a node has a ClusterSet CIDR of. */
export function familiesOf(node: Pick<NodeFact, "clusterSetCidrs">): Family[] {
  return FAMILIES.filter((family) => node.clusterSetCidrs.some((cidr) => cidr.family === family));
}
