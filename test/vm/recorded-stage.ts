import type { Stage } from "./mirror.ts";

/** Replaces node:test: records the events of tests, one line each. */
export class RecordedStage implements Stage {
  readonly lines: string[];
  readonly #path: string;

  constructor(lines: string[] = [], path = "") {
    this.lines = lines;
    this.#path = path;
  }

  async test(name: string, body: (stage: Stage) => Promise<void>): Promise<void> {
    const path = `${this.#path}/${name}`;
    this.lines.push(`${path} begins`);
    try {
      await body(new RecordedStage(this.lines, path));
      this.lines.push(`${path} ends`);
    } catch (error) {
      this.lines.push(`${path} fails: ${error instanceof Error ? error.message : "oddly"}`);
    }
  }

  diagnostic(text: string): void {
    this.lines.push(`${this.#path}: ${text}`);
  }

  skip(why: string): void {
    this.lines.push(`${this.#path} is skipped: ${why}`);
  }
}
