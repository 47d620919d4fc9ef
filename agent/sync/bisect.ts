/** What a bisection found. */
export interface Bisected<One> {
  /** Each was rejected on its own. */
  readonly offenders: readonly One[];
  /** Rejected together with others, and not tried alone because no more attempts were allowed. */
  readonly undecided: readonly One[];
}

/**
 * Finds the offenders in a group that was rejected as a whole: k among n take about 2 k log2(n / k) attempts. `accepts`
 * tries some on top of all that were accepted before; `mayTry` allows the next attempt after so many rejected ones.
 */
export async function bisect<One>(
  rejected: readonly One[],
  accepts: (some: readonly One[]) => Promise<boolean>,
  mayTry: (rejections: number) => boolean,
): Promise<Bisected<One>> {
  const offenders: One[] = [];
  const undecided: One[] = [];
  let rejections = 0;
  const search = async (group: readonly One[]): Promise<void> => {
    if (group.length === 1) {
      offenders.push(...group);
      return;
    }
    const middle = Math.ceil(group.length / 2);
    let firstAccepted = false;
    for (const half of [group.slice(0, middle), group.slice(middle)]) {
      // After an accepted first half the second holds the offender. A single one is tried all the same before it is blamed.
      if (!firstAccepted || half.length === 1) {
        if (!mayTry(rejections)) {
          undecided.push(...half);
          continue;
        }
        if (await accepts(half)) {
          firstAccepted = true;
          continue;
        }
        rejections++;
      }
      await search(half);
    }
  };
  if (rejected.length > 0) await search(rejected);
  return { offenders, undecided };
}
