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

interface Claim {
  readonly key: ObjectKey;
  readonly created: number;
  /** At most the limit of one import. */
  readonly cost: number;
}

/**
 * The costs of all imports, and what each may cost. Over the limit of a namespace, or of the node, the oldest imports get
 * what they ask for: `creationTimestamp` is set by the API server. The same imports give the same allowances.
 */
export class RuleBudget {
  readonly #limits: RuleLimits;
  readonly #namespaces = new Map<string, Map<ObjectKey, Claim>>();
  /** The costs of each namespace. */
  readonly #totals = new Map<string, number>();
  /** Allowances of imports that get less than the limit of one import, in namespaces over their limit. */
  readonly #inNamespace = new Map<string, ReadonlyMap<ObjectKey, number>>();
  #onNode: ReadonlyMap<ObjectKey, number> = new Map();
  readonly #unsettled = new Set<string>();
  #changed = new Set<ObjectKey>();

  constructor(limits: RuleLimits) {
    this.#limits = limits;
  }

  /** Sets the cost of an import; 0 if it does not exist. */
  set(key: ObjectKey, created: number, cost: number): void {
    const { namespace } = namesOf(key);
    const claims = this.#namespaces.get(namespace) ?? new Map<ObjectKey, Claim>();
    const before = claims.get(key);
    const claim = { key, created, cost: Math.min(cost, this.#limits.maxRulesPerImport) };
    if (before?.cost === claim.cost && before.created === created) return;
    if (claim.cost === 0) claims.delete(key);
    else claims.set(key, claim);
    if (claims.size === 0) this.#namespaces.delete(namespace);
    else this.#namespaces.set(namespace, claims);
    const total = (this.#totals.get(namespace) ?? 0) - (before?.cost ?? 0) + claim.cost;
    if (total === 0) this.#totals.delete(namespace);
    else this.#totals.set(namespace, total);
    this.#unsettled.add(namespace);
  }

  /** What an import may cost. */
  allowance(key: ObjectKey): Allowance {
    this.#settle();
    const onNode = this.#onNode.get(key);
    if (onNode !== undefined) return { rules: onNode, reason: "node-limit" };
    const rules = this.#inNamespace.get(namesOf(key).namespace)?.get(key);
    if (rules !== undefined) return { rules, reason: "namespace-limit" };
    return { rules: this.#limits.maxRulesPerImport, reason: "import-limit" };
  }

  /** The imports whose allowance changed since the last call. */
  takeChanged(): ReadonlySet<ObjectKey> {
    this.#settle();
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  /** Computes allowances only where there is too much, which is rare: then a change costs as much as there are imports. */
  #settle(): void {
    if (this.#unsettled.size === 0) return;
    const { maxRulesPerNamespace, maxRules } = this.#limits;
    for (const namespace of this.#unsettled) {
      const before = this.#inNamespace.get(namespace);
      const over = (this.#totals.get(namespace) ?? 0) > maxRulesPerNamespace;
      if (before === undefined && !over) continue;
      const claims = over ? [...(this.#namespaces.get(namespace)?.values() ?? [])] : [];
      const after = restrict(claims, maxRulesPerNamespace);
      this.#note(before, after);
      if (after.size === 0) this.#inNamespace.delete(namespace);
      else this.#inNamespace.set(namespace, after);
    }
    this.#unsettled.clear();
    const totals = [...this.#totals.values()].map((total) => Math.min(total, maxRulesPerNamespace));
    const over = totals.reduce((sum, total) => sum + total, 0) > maxRules;
    if (this.#onNode.size === 0 && !over) return;
    const after: ReadonlyMap<ObjectKey, number> = over
      ? restrict(this.#granted(), maxRules)
      : new Map();
    this.#note(this.#onNode, after);
    this.#onNode = after;
  }

  /** All claims, without what exceeds the limit of their namespace. */
  #granted(): Claim[] {
    return [...this.#namespaces].flatMap(([namespace, claims]) => {
      const restricted = this.#inNamespace.get(namespace);
      return [...claims.values()].map((claim) => ({
        ...claim,
        cost: restricted?.get(claim.key) ?? claim.cost,
      }));
    });
  }

  #note(
    before: ReadonlyMap<ObjectKey, number> = new Map(),
    after: ReadonlyMap<ObjectKey, number>,
  ): void {
    for (const key of new Set([...before.keys(), ...after.keys()])) {
      if (before.get(key) !== after.get(key)) this.#changed.add(key);
    }
  }
}

/** What those claims get that do not get all, if the oldest come first. PURE. */
function restrict(claims: readonly Claim[], limit: number): Map<ObjectKey, number> {
  const restricted = new Map<ObjectKey, number>();
  let left = limit;
  for (const { key, cost } of [...claims].sort(older)) {
    const granted = Math.min(cost, left);
    left -= granted;
    if (granted < cost) restricted.set(key, granted);
  }
  return restricted;
}

function older(a: Claim, b: Claim): number {
  if (a.created !== b.created) return a.created < b.created ? -1 : 1;
  return a.key < b.key ? -1 : 1;
}
