/** One new connection of the client, as `request` reports it. Times in ms of CLOCK_MONOTONIC. */
export interface Attempt {
  readonly begun: number;
  readonly ended: number;
  /** `cluster/pod` that answered; undefined if none did. */
  readonly answer: string | undefined;
  /** What became of it instead; undefined if it was answered. */
  readonly error: string | undefined;
}

/** Parses one line of `request`; undefined if it is not an attempt (the sum at the end). */
export function parseAttempt(line: string): Attempt | undefined {
  const said = JSON.parse(line) as { at?: number; ms?: number; name?: string; error?: string };
  if (said.at === undefined || said.ms === undefined) return undefined;
  const { at, ms, name, error } = said;
  return { begun: at, ended: at + ms, answer: name, error };
}

/** The cluster of a server's name, or the word for what went wrong. */
export function placeOf(attempt: Attempt): string {
  return attempt.answer?.split("/")[0] ?? attempt.error ?? "failed";
}

/** Now, on the clock of attempts. */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
