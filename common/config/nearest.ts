/** The word most similar to `given`, with at most one edit per three characters; undefined if there is none. PURE. */
export function nearest(given: string, words: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.floor(given.length / 3) + 1;
  for (const word of words) {
    const edits = distance(given, word);
    if (edits < least) [best, least] = [word, edits];
  }
  return best;
}

/** Number of letters added, removed, replaced or swapped between `a` and `b` (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(above, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? at(before, j - 2) + 1
          : Number.POSITIVE_INFINITY;
      row.push(Math.min(at(above, j) + 1, at(row, j - 1) + 1, replaced, swapped));
    }
    [before, above] = [above, row];
  }
  return at(above, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
