/** What the guest reports to the host, one line of JSON each. `file`: a test file, as the job names it. */
export type Report =
  | { readonly kind: "booted"; readonly kernel: string; readonly uptimeMs: number }
  /** A test begins. */
  | { readonly kind: "began"; readonly file: string; readonly name: string }
  | ({ readonly kind: "result" } & Result)
  /** A diagnostic, or what a file printed. */
  | { readonly kind: "said"; readonly file: string; readonly text: string }
  /** A file ended, after so many results. */
  | { readonly kind: "ended"; readonly file: string; readonly results: number };

/** The result of a test; suites are not reported. */
export interface Result {
  readonly file: string;
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
  /** Of a failed test. */
  readonly reason?: string;
}

/** The results of a guest, by file. */
export class Results {
  readonly all: Result[] = [];
  /** Files that did not end yet, with the test that began last. */
  readonly #running: Map<string, string | undefined>;

  constructor(files: readonly string[]) {
    this.#running = new Map(files.map((file) => [file, undefined]));
  }

  /** Throws on a report of a file that is not running. */
  take(report: Report): void {
    if (report.kind === "booted") return;
    const { file } = report;
    if (!this.#running.has(file)) throw new Error(`unexpected report: ${JSON.stringify(report)}`);
    if (report.kind === "began") this.#running.set(file, report.name);
    else if (report.kind === "result") this.#add(report);
    else if (report.kind === "ended") this.#end(file, report.results);
  }

  /** Called when the guest has ended: each file that did not end has failed. `cause`: why the guest ended. */
  close(cause: string): void {
    for (const [file, name = "no test began"] of this.#running)
      this.#add({ file, name, outcome: "failed", reason: `no result: ${cause}` });
    this.#running.clear();
  }

  #end(file: string, expected: number): void {
    const results = this.all.filter((result) => result.file === file);
    const fail = (reason: string) =>
      this.#add({ file, name: "the whole file", outcome: "failed", reason });
    if (results.length !== expected) fail(`${results.length} of ${expected} results were received`);
    else if (results.every(({ outcome }) => outcome === "skipped")) fail("no test ran");
    this.#running.delete(file);
  }

  #add({ file, name, outcome, reason }: Result): void {
    this.all.push({ file, name, outcome, ...(reason !== undefined && { reason }) });
  }
}

/** The last lines of a run: each failed test with its reason, by file, and the numbers. */
export function closingText(results: readonly Result[]): string {
  const count = (outcome: Result["outcome"]) =>
    results.filter((result) => result.outcome === outcome).length;
  const failed = results.filter(({ outcome }) => outcome === "failed");
  return [
    ...failed
      .toSorted((a, b) => a.file.localeCompare(b.file))
      .map(({ file, name, reason = "" }) => `FAILED ${file}: ${name}\n${indented(reason)}`),
    `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`,
  ].join("\n");
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "    ");
}
