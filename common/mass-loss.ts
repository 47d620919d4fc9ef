/** Removals up to this number are no mass loss, unless nothing is left. */
const FEW = 10;

/** True if a list without `removed` of `all` objects is probably wrong: it lacks all, or more than half and more than a few. PURE. */
export function isMassLoss(removed: number, all: number): boolean {
  return removed > 0 && (removed >= all || (removed > FEW && removed * 2 > all));
}
