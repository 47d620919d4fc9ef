/** A condition without its history. */
export interface Claim {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** One or more words, joined by commas. */
  readonly reason: string;
  readonly message: string;
}

/** A condition in a status. */
export interface Condition extends Claim {
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}

/**
 * Adds times and generation to claims. An unchanged status keeps its transition time. `now`: milliseconds since 1970.
 * Conditions of other types are not returned.
 */
export function conditionsOf(
  claims: readonly Claim[],
  seen: readonly Condition[],
  generation: number,
  now: number,
): Condition[] {
  return claims.map((claim) => {
    const before = seen.find(({ type }) => type === claim.type);
    const { type, status, reason, message } = claim;
    return {
      type,
      status,
      reason,
      message,
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : textOf(now),
      observedGeneration: generation,
    };
  });
}

/** Kubernetes times have whole seconds. */
function textOf(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
