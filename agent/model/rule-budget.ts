import { GroupedBudget } from "../../api/grouped-budget.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";

/** Maximum costs (rule-cost.ts), named as the flags that set them. */
export interface RuleLimits {
  /** Of one import: what the kernel has to accept at once. */
  readonly maxRulesPerImport: number;
  /** Of all imports of one namespace. */
  readonly maxRulesPerNamespace: number;
  /** Of all imports. */
  readonly maxRules: number;
}

/** No limits, for tests and tools. */
export const NO_LIMITS: RuleLimits = {
  maxRulesPerImport: Number.POSITIVE_INFINITY,
  maxRulesPerNamespace: Number.POSITIVE_INFINITY,
  maxRules: Number.POSITIVE_INFINITY,
};

/** What one import may cost. */
export interface Allowance {
  readonly rules: number;
  /** The limit that it comes from. */
  readonly reason: Extract<Reason, "import-limit" | "namespace-limit" | "node-limit">;
}

/**
 * The costs of all imports, and what each may cost. Namespaces share the limit of the node, and the imports of a namespace what it may have, both max-min
 * fair: what one import asks for beyond an equal share takes nothing from the others. The same imports give the same allowances.
 */
export class RuleBudget {
  readonly #limits: RuleLimits;
  readonly #budget: GroupedBudget<ObjectKey>;

  constructor(limits: RuleLimits) {
    this.#limits = limits;
    this.#budget = new GroupedBudget(limits.maxRules, limits.maxRulesPerNamespace);
  }

  /** Sets the cost of an import; 0 if it does not exist. `least`: with less, it serves no connection. */
  set(key: ObjectKey, created: number, cost: number, least: number): void {
    const most = Math.min(cost, this.#limits.maxRulesPerImport);
    this.#budget.set(key, namesOf(key).namespace, created, most, Math.min(least, most));
  }

  /** What an import may cost. */
  allowance(key: ObjectKey): Allowance {
    const restricted = this.#budget.restricted(key, namesOf(key).namespace);
    if (restricted === undefined)
      return { rules: this.#limits.maxRulesPerImport, reason: "import-limit" };
    const { grant: rules, by } = restricted;
    return { rules, reason: by === "all" ? "node-limit" : "namespace-limit" };
  }

  /** The imports whose allowance changed since the last call. */
  takeChanged(): ReadonlySet<ObjectKey> {
    return this.#budget.takeChanged();
  }
}
