import type { Spent } from "./usage.ts";

/** The percentiles of many measurements. */
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

const UNITS = [
  { name: "s", ms: 1000 },
  { name: "ms", ms: 1 },
  { name: "us", ms: 0.001 },
] as const;

/** `12.3 ms`, `0.49 / 2.5 / 31.2 ms`: all in the largest unit that the largest of them fills. */
export function time(...values: readonly number[]): string {
  const largest = Math.max(...values);
  const unit = UNITS.find(({ ms }) => largest >= ms) ?? UNITS[2];
  const texts = values.map((ms) => {
    const value = ms / unit.ms;
    return value.toFixed(unit.name === "us" ? 0 : value < 1 || unit.name === "s" ? 2 : 1);
  });
  return `${texts.join(" / ")} ${unit.name}`;
}

/** `p50 / p99 / max`. */
export function times({ p50, p99, max }: Figures): string {
  return time(p50, p99, max);
}

/** `10,000`. */
export function count(n: number): string {
  return n.toLocaleString("en-US");
}

/** Megabytes, in whole ones; what it has started after the `+`. */
export function megabytes([own, children]: readonly [number, number]): string {
  return `${own.toFixed(0)} MB${children >= 0.5 ? ` + ${children.toFixed(0)} MB` : ""}`;
}

/** `0.42 %`. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}

/** `1 service`, `1,000 services`. */
export function servicesOf(n: number): string {
  return `${count(n)} service${n === 1 ? "" : "s"}`;
}

/** `0.42 s, 0.10 s of it in the kernel`. */
export function processor({ user, system }: Spent): string {
  return `${(user + system).toFixed(2)} s, ${system.toFixed(2)} s of it in the kernel`;
}
