/** Reports of the guest to the host, one line of JSON each. A test has an `id` that is unique in the run. */
export type Report =
  | { readonly kind: "booted"; readonly kernel: string; readonly uptimeMs: number }
  /** `parent`: the test or the file that it is in; a file has none. */
  | { readonly kind: "began"; readonly id: string; readonly parent?: string; readonly name: string }
  | Ended
  /** A diagnostic of a test. */
  | { readonly kind: "said"; readonly file: string; readonly message: string }
  /** What a file printed. */
  | { readonly kind: "printed"; readonly text: string }
  /** The last line: `tests` is how many ended, files and suites not counted. */
  | { readonly kind: "closing"; readonly tests: number };

/** The end of a test. Without `failure` it passed, unless `skipped` has the reason why it did not run. */
export interface Ended {
  readonly kind: "ended";
  readonly id: string;
  /** False for files and suites, which only hold tests. */
  readonly test: boolean;
  readonly skipped?: string;
  readonly failure?: Failure;
}

/** Why a test failed. */
export interface Failure {
  readonly message: string;
  readonly stack: string;
  /** True if nothing but tests inside it failed. */
  readonly inside: boolean;
}

const KINDS: ReadonlySet<unknown> = new Set([
  "booted",
  "began",
  "ended",
  "said",
  "printed",
  "closing",
]);

/** Reads one line. Throws on one that the guest's half of this page does not write: half a line, or noise. */
export function parseReport(line: string): Report {
  let said: unknown;
  try {
    said = JSON.parse(line);
  } catch {
    throw new Error(`not a report: ${line.slice(0, 200)}`);
  }
  if (isReport(said)) return said;
  throw new Error(`not a report: ${line.slice(0, 200)}`);
}

/** Both ends are of one tree, and the line is whole: that its kind is known is enough. */
function isReport(said: unknown): said is Report {
  return typeof said === "object" && said !== null && "kind" in said && KINDS.has(said.kind);
}
