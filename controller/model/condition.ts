/** A condition of an object's status, as it is true now (metav1.Condition without its history). */
export interface Claim {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** One word of KEP-1645, or several joined by commas; never a blank. */
  readonly reason: string;
  readonly message: string;
}

/** A condition as it stands in a status. */
export interface Condition extends Claim {
  /** RFC 3339. */
  readonly lastTransitionTime: string;
  /** `metadata.generation` that it speaks of. */
  readonly observedGeneration: number;
}

/**
 * Claims as conditions. One whose status is what it was keeps the time of its last transition, so that what is
 * true for long is written once. `now` is in milliseconds since 1970; conditions seen of other types are neither
 * read nor returned: they are their authors'.
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

/** As Kubernetes writes a time: whole seconds. */
function textOf(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
