import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { NodeFact } from "../model/facts.ts";
import type { ImportView, Model } from "../model/model.ts";
import { type ImportPlan, usedTiers } from "../plan/import-plan.ts";
import { planImport } from "../plan/plan.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { NodeShifts } from "./node-shifts.ts";
import type { UnlistedEndpoints } from "./unlisted-endpoints.ts";

/** What the kernel of one family should hold, as of now. */
export interface DesiredState {
  /** Every import that is known; some have no service. */
  keys(): Iterable<ObjectKey>;
  services(key: ObjectKey): DesiredServices;
  /** The services that the import would have if flags allowed each of its VIPs. */
  servicesIfAllowed(key: ObjectKey): readonly VirtualService[];
  /** The most that the services of an import cost (rule-cost.ts), without planning them. */
  cost(key: ObjectKey): number;
  /** True if there is an EndpointSlice of this import, whether or not an endpoint is ready. */
  hasSlices(key: ObjectKey): boolean;
}

/** The services of one import. */
export interface DesiredServices {
  readonly services: readonly VirtualService[];
  /**
   * Plans the same services again, however the facts have changed since, so that they need not stay in memory; without the connections that
   * `UnlistedEndpoints` keeps, on which no rule depends.
   */
  readonly again: () => readonly VirtualService[];
}

const NONE: DesiredServices = { services: [], again: () => [] };

/**
 * Plans that are kept for the families that have not taken them yet, and their endpoints in total. A plan for each of 10,000
 * imports would take as much memory as the facts; a change of more imports at once is planned again for each family.
 */
const RECENT = { plans: 256, endpoints: 50_000 };

const ALL: readonly Cidr[] = [
  { family: "IPv4", text: "0.0.0.0/0", bits: 0, hex: "0".repeat(8) },
  { family: "IPv6", text: "::/0", bits: 0, hex: "0".repeat(32) },
];

interface Planned {
  readonly view: ImportView;
  readonly node: NodeFact;
  readonly plan: ImportPlan;
}

/** The plans of all imports: made from the facts when an import changes, and again when all are compared. */
export class Plans {
  readonly #model: Model;
  readonly #recent = new Map<ObjectKey, Planned>();
  /** Endpoints in the recent plans. */
  #endpoints = 0;
  readonly #unlisted: Pick<UnlistedEndpoints, "confirm">;
  readonly #shifts: Pick<NodeShifts, "view" | "gone">;
  readonly #tiersInUse = new TiersInUse();
  #node: NodeFact;

  constructor(
    model: Model,
    node: NodeFact,
    unlisted: Pick<UnlistedEndpoints, "confirm">,
    shifts: Pick<NodeShifts, "view" | "gone"> = { view: (view) => view, gone: () => undefined },
  ) {
    this.#model = model;
    this.#node = node;
    this.#unlisted = unlisted;
    this.#shifts = shifts;
  }

  /** The node has changed: every import is planned from it from now on. */
  setNode(node: NodeFact): void {
    this.#node = node;
    this.#recent.clear();
    this.#endpoints = 0;
  }

  /** Plans an import from the facts as they are now; undefined if nothing is known of it. */
  plan(key: ObjectKey): ImportPlan | undefined {
    this.#drop(key);
    return this.#planned(key)?.plan;
  }

  /** What one family should hold. */
  of(family: Family): DesiredState {
    return {
      keys: () => this.#model.keys(),
      hasSlices: (key) => this.#model.hasSlices(key),
      cost: (key) => this.#model.cost(key),
      services: (key) => {
        const planned = this.#planned(key);
        if (planned === undefined) return NONE;
        const { view, node } = planned;
        const again = () => servicesOf(planImport(view, node), family);
        return { services: servicesOf(planned.plan, family), again };
      },
      servicesIfAllowed: (key) => {
        const planned = this.#planned(key);
        if (planned === undefined) return [];
        const { view, node } = planned;
        return servicesOf(planImport(view, { ...node, explicitVipCidrs: ALL }), family);
      },
    };
  }

  #planned(key: ObjectKey): Planned | undefined {
    const known = this.#recent.get(key);
    if (known !== undefined) return known;
    const found = this.#model.view(key);
    if (found === undefined) this.#shifts.gone(key);
    const view = found && this.#tiersInUse.view(this.#shifts.view(found));
    const node = this.#node;
    const plan = view && planImport(view, node);
    this.#tiersInUse.planned(key, view, plan);
    const services = this.#unlisted.confirm(key, plan?.services ?? []);
    if (view === undefined || plan === undefined) return undefined;
    const planned = { view, node, plan: { ...plan, services } };
    this.#recent.set(key, planned);
    this.#endpoints += endpointsOf(planned);
    for (const oldest of this.#recent.keys()) {
      if (this.#recent.size <= RECENT.plans && this.#endpoints <= RECENT.endpoints) break;
      this.#drop(oldest);
    }
    return planned;
  }

  #drop(key: ObjectKey): void {
    const planned = this.#recent.get(key);
    if (planned === undefined) return;
    this.#recent.delete(key);
    this.#endpoints -= endpointsOf(planned);
  }
}

function endpointsOf({ plan }: Planned): number {
  return plan.services.reduce((sum, one) => sum + one.endpoints.length, plan.excluded.length);
}

function servicesOf({ services }: ImportPlan, family: Family): VirtualService[] {
  return services.filter((service) => service.family === family);
}

/**
 * The tier that each port used in the last plan, of imports whose policy depends on it. A new process knows none; it then uses a tier as soon as
 * that has enough.
 */
class TiersInUse {
  readonly #imports = new Map<ObjectKey, ReadonlyMap<string, string>>();

  /** The view, with the tiers in use. */
  view(view: ImportView): ImportView {
    const inUse = this.#imports.get(view.key);
    return inUse === undefined || view.fact?.minReady === undefined ? view : { ...view, inUse };
  }

  /** An import was planned from this view, or is unknown now. */
  planned(key: ObjectKey, view: ImportView | undefined, plan: ImportPlan | undefined): void {
    if (view?.fact?.minReady === undefined || plan === undefined) {
      this.#imports.delete(key);
      return;
    }
    this.#imports.set(key, usedTiers(plan));
  }
}
