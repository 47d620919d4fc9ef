/** `one` for 1, else `more`: for words that agree with a number. PURE. */
export function byCount(count: number, one: string, more: string): string {
  return count === 1 ? one : more;
}

/** A number and its noun: `1 endpoint`, `0 endpoints`. `noun`: in the singular, with an `s` in the plural. PURE. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${byCount(count, "", "s")}`;
}

/** Milliseconds as `1 second` or `0.5 seconds`. PURE. */
export function inSeconds(ms: number): string {
  return counted(ms / 1000, "second");
}
