import type { Result } from "./attempt.ts";

/** Counts of names or errors. */
type Counts = Record<string, number>;

/** Sums over attempts. */
export class Tally {
  total = 0;
  answered = 0;
  maxMs = 0;
  answers: Counts = {};
  errors: Counts = {};

  add(result: Result, ms: number): void {
    this.total++;
    this.maxMs = Math.max(this.maxMs, ms);
    if ("error" in result) {
      this.errors[result.error] = (this.errors[result.error] ?? 0) + 1;
    } else {
      this.answered++;
      this.answers[result.name] = (this.answers[result.name] ?? 0) + 1;
    }
  }
}
