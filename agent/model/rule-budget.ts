import { FairBudget } from "../../api/fair-budget.ts";
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
  readonly #namespaces: FairBudget<string>;
  readonly #imports = new Map<string, FairBudget<ObjectKey>>();
  /** Namespaces of which an import has changed. */
  readonly #touched = new Set<string>();
  #changed = new Set<ObjectKey>();

  constructor(limits: RuleLimits) {
    this.#limits = limits;
    this.#namespaces = new FairBudget(limits.maxRules, { isCoarse: true });
  }

  /** Sets the cost of an import; 0 if it does not exist. `least`: with less, it serves no connection. */
  set(key: ObjectKey, created: number, cost: number, least: number): void {
    const { maxRulesPerImport, maxRulesPerNamespace } = this.#limits;
    const { namespace } = namesOf(key);
    const imports =
      this.#imports.get(namespace) ?? new FairBudget(maxRulesPerNamespace, { isCoarse: true });
    this.#imports.set(namespace, imports);
    const most = Math.min(cost, maxRulesPerImport);
    imports.set(key, key, created, most, Math.min(least, most));
    const asked = Math.min(imports.asked, maxRulesPerNamespace);
    this.#namespaces.set(namespace, namespace, 0, asked, 1);
    this.#touched.add(namespace);
  }

  /** What an import may cost. */
  allowance(key: ObjectKey): Allowance {
    this.#settle();
    const { namespace } = namesOf(key);
    const restricted = this.#imports.get(namespace)?.restricted(key);
    if (restricted === undefined)
      return { rules: this.#limits.maxRulesPerImport, reason: "import-limit" };
    const isOfNode = this.#namespaces.restricted(namespace) !== undefined;
    return { rules: restricted.grant, reason: isOfNode ? "node-limit" : "namespace-limit" };
  }

  /** The imports whose allowance changed since the last call. */
  takeChanged(): ReadonlySet<ObjectKey> {
    this.#settle();
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  #settle(): void {
    if (this.#touched.size === 0) return;
    for (const namespace of this.#namespaces.takeChanged()) {
      const { grant = this.#limits.maxRulesPerNamespace } =
        this.#namespaces.restricted(namespace) ?? {};
      this.#imports.get(namespace)?.limit(grant);
      this.#touched.add(namespace);
    }
    for (const namespace of this.#touched) {
      const imports = this.#imports.get(namespace);
      for (const key of imports?.takeChanged() ?? []) this.#changed.add(key);
      if (imports?.asked === 0) this.#imports.delete(namespace);
    }
    this.#touched.clear();
  }
}
