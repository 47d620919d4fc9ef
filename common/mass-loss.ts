/** Things that may go at once, even if they are more than half of all. */
const FEW = 10;

/**
 * True if the loss of so many things among `all` is more likely a fault of who tells of it than anybody's wish:
 * everything, or more than half and more than a few. To doubt a true loss costs a little time; to believe a false
 * one costs the traffic of whole clusters. PURE.
 */
export function isMassLoss(lost: number, all: number): boolean {
  return lost > 0 && (lost >= all || (lost > FEW && lost * 2 > all));
}
