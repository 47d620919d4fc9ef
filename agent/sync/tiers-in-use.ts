import type { ObjectKey } from "../../api/names.ts";
import type { ImportView } from "../model/model.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { usedTiers } from "../plan/used-tiers.ts";

/**
 * The tier that each port used in the last plan, of imports whose policy depends on it. A new process knows none; it then uses a tier as soon as
 * that has enough.
 */
export class TiersInUse {
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
