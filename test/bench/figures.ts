/** What is told of many measurements of one thing. */
export interface Figures {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Nearest rank: every figure is a measurement that was made. Throws if there is none. */
export function figuresOf(values: readonly number[]): Figures {
  if (values.length === 0) throw new Error("nothing was measured");
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** `12.3 ms`; below 1 ms in microseconds, from 1 s on in seconds. */
export function time(ms: number): string {
  if (ms < 1) return `${(ms * 1000).toFixed(0)} us`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return `${ms.toFixed(1)} ms`;
}

/** `p50 / p99 / max`. */
export function times({ p50, p99, max }: Figures): string {
  return `${time(p50)} / ${time(p99)} / ${time(max)}`;
}
