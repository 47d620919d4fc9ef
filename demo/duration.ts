/** Milliseconds for people, seconds if there are many; a dash for what has not happened. */
export function ms(value: number | undefined): string {
  if (value === undefined) return "–";
  return value < 1_000 ? `${value.toFixed(1)} ms` : `${(value / 1_000).toFixed(1)} s`;
}
