/**
 * How many times as much as is free an owner may hold when it takes one more. One owner alone leaves a fifth free, the next one a fifth of that. A smaller
 * number leaves more to owners that may never come; a larger one leaves nothing in a range of a few addresses.
 */
const MOST_TIMES_FREE = 4;

/**
 * True if an owner that holds `held` may take one more of what is limited, of which `free` are left. For what is not taken back once it is given: an owner
 * can take almost all while it is alone, and never the last ones, so another one finds some. Switches share their buffers in this way (dynamic thresholds,
 * Choudhury and Hahne 1998). What can be taken back is shared by `FairBudget`.
 */
export function mayTake(held: number, free: number): boolean {
  return held < MOST_TIMES_FREE * free;
}
