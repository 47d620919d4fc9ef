/** Order of two texts as `sort()` has it: by UTF-16 code units, and so the same in every locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
