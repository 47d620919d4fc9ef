import { FAMILIES, type Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import type { Clock } from "../../common/clock.ts";
import type { Backend, Transaction } from "../backends/backend.ts";
import type { NodeFact } from "../model/facts.ts";
import { Model } from "../model/model.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { planImport } from "../plan/plan.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { Source, SourceEvents } from "../sources/source.ts";
import { Reconciler, type ReconcilerEvents } from "./reconciler.ts";

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
  /** When the oldest change that is not live was learned of; absent if all are live. */
  readonly oldestWaiting?: number;
  /** When the pass that is under way began; absent between passes. */
  readonly passSince?: number;
}

/** What the agent is made of. */
export interface AgentOptions {
  readonly node: NodeFact;
  readonly sources: readonly Source[];
  /** One backend for each family that is programmed. */
  readonly backends: ReadonlyMap<Family, AnyBackend>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: AgentEvents;
}

/**
 * The straight line: sources -> model -> plan -> reconcilers. Changes of one turn of the event loop are
 * planned together; nothing is planned, so nothing is written, before every source has listed.
 */
export class Agent {
  readonly #options: AgentOptions;
  readonly #model = new Model();
  readonly #reconcilers = new Map<Family, Reconciler<unknown, unknown, Transaction>>();
  readonly #unlisted: Set<Source>;
  #scheduled = false;
  #stopped = false;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#unlisted = new Set(options.sources);
    const { clock, random, events } = options;
    for (const [family, backend] of options.backends) {
      const everything = () => this.#everything(family);
      const reconciler = new Reconciler({ family, backend, everything, clock, random, events });
      this.#reconcilers.set(family, reconciler);
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

  /** True once every source has listed. */
  get listed(): boolean {
    return this.#unlisted.size === 0;
  }

  /** How far each family is; times are the clock's. */
  get families(): ReadonlyMap<Family, FamilyProgress> {
    return new Map(
      [...this.#reconcilers].map(([family, { synced, oldestWaiting, passSince }]) => [
        family,
        {
          synced,
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

  /** The plan of one import as of now; undefined if nothing is known of it. */
  plan(key: ObjectKey): ImportPlan | undefined {
    const view = this.#model.view(key);
    return view && planImport(view, this.#options.node);
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
      nodeChanged: () => undefined,
      propertiesChanged: () => undefined,
      problems: (object, problems) => this.#options.events.problems(object, problems),
      listed: () => {
        if (this.#unlisted.delete(source) && this.listed && !this.#stopped) this.#open();
      },
    };
  }

  #open(): void {
    this.#options.events.listed();
    this.#planDirty();
    for (const reconciler of this.#reconcilers.values()) reconciler.start();
  }

  #schedule(): void {
    if (this.#scheduled || !this.listed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#stopped) this.#planDirty();
    });
  }

  #planDirty(): void {
    for (const [key, at] of this.#model.takeDirty()) {
      const plan = this.plan(key);
      this.#options.events.planned(key, plan);
      for (const [family, reconciler] of this.#reconcilers) {
        reconciler.set(key, servicesOf(plan, family), at);
      }
    }
  }

  *#everything(family: Family): IterableIterator<[ObjectKey, VirtualService[]]> {
    for (const key of this.#model.keys()) yield [key, servicesOf(this.plan(key), family)];
  }
}

function servicesOf(plan: ImportPlan | undefined, family: Family): VirtualService[] {
  return plan?.services.filter((service) => service.family === family) ?? [];
}

/** The families, in order, that a node has a ClusterSet CIDR of. */
export function familiesOf(node: NodeFact): Family[] {
  return FAMILIES.filter((family) => node.clusterSetCidrs.some((cidr) => cidr.family === family));
}
