/** Milliseconds of CLOCK_MONOTONIC, to the microsecond. */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** Prints one JSON line. */
export function print(line: object): void {
  console.log(JSON.stringify(line));
}
