import { readFileSync } from "node:fs";
import type { TestEvent } from "node:test/reporters";

/** What the pool learns of a job, one line of JSON each: first its tests, then what they cost. */
export type Line = Result | Cost;

/** The processor time of the job's process and of the processes that it started and waited for. */
export interface Cost {
  readonly cpuSeconds: number;
}

/** A test. Suites are not reported. */
export interface Result {
  readonly file: string;
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
  /** Of a failed test: the error's first lines; of a skipped one, why. */
  readonly reason?: string;
}

/** Enough lines of an error for its message, and the first lines of a difference. */
const REASON_LINES = 12;

/** A reporter for `node --test-reporter`. A test that fails only because a test in it failed is left out. */
export default async function* results(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    const result = resultOf(event);
    if (result !== undefined) yield `${JSON.stringify(result satisfies Line)}\n`;
  }
  yield `${JSON.stringify({ cpuSeconds: cpuSeconds() } satisfies Line)}\n`;
}

/** proc(5): fields 14 to 17 of stat, in ticks, of which Linux has 100 in a second. The name before them may contain spaces. */
function cpuSeconds(): number {
  const [, fields = ""] = readFileSync("/proc/self/stat", "utf8").split(") ");
  const ticks = fields.split(" ").slice(11, 15).map(Number);
  return ticks.reduce((sum, each) => sum + each, 0) / 100;
}

function resultOf(event: TestEvent): Result | undefined {
  if (event.type !== "test:pass" && event.type !== "test:fail") return undefined;
  const { name, file = "", details } = event.data;
  if (event.type === "test:fail") {
    const { error } = event.data.details;
    if ("failureType" in error && error.failureType === "subtestsFailed") return undefined;
    const cause: unknown = error.cause ?? error;
    const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    const reason = text.split("\n").slice(0, REASON_LINES).join("\n");
    return { file, name, outcome: "failed", reason };
  }
  if (details.type === "suite") return undefined;
  const { skip = false } = event.data;
  if (skip === false) return { file, name, outcome: "passed" };
  return { file, name, outcome: "skipped", ...(typeof skip === "string" && { reason: skip }) };
}
