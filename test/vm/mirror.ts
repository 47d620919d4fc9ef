import assert from "node:assert/strict";
import { relative } from "node:path";
import type { Ended, Report } from "./report.ts";
import { REPOSITORY } from "./run-disk.ts";

/** Where tests can be made: a `TestContext` is one. */
export interface Stage {
  test(name: string, body: (stage: Stage) => Promise<void>): Promise<void>;
  diagnostic(text: string): void;
  skip(why: string): void;
}

/** One test of the guest, and its test on the host. */
interface Mirrored {
  readonly name: string;
  /** The context of the host's test, once that runs. */
  readonly stage: Promise<Stage>;
  readonly end: PromiseWithResolvers<Ended>;
  /** Tests in it: the host's test waits for them. */
  readonly inside: Promise<void>[];
  /** Diagnostics, for its end. */
  readonly messages: string[];
}

/** Makes a test of the host for each test of the guest, while that runs, and lets it end likewise. */
export class Mirror {
  readonly #top: Stage;
  readonly #open = new Map<string, Mirrored>();
  /** How many tests of each file have run. */
  readonly #files = new Map<string, number>();
  readonly #roots: Promise<void>[] = [];
  readonly #skipped: string[] = [];
  #tests = 0;
  #closing: number | undefined;

  constructor(top: Stage) {
    this.#top = top;
  }

  /** Takes in what the guest reports. Throws on a report that cannot follow the earlier ones. */
  take(said: Report): void {
    switch (said.kind) {
      case "booted":
        this.#top.diagnostic(`Linux ${said.kernel}, up in ${said.uptimeMs} ms`);
        return;
      case "began":
        this.#begin(said.id, said.parent, said.name);
        return;
      case "ended":
        this.#end(said);
        return;
      case "said":
        this.#open.get(said.file)?.messages.push(said.message);
        return;
      case "printed":
        process.stderr.write(said.text);
        return;
      case "closing":
        this.#closing = said.tests;
    }
  }

  /**
   * Called when the guest has ended. Fails running tests, and throws unless the guest has reported its end and every counted test
   * is here, at least one of each file that was not skipped. Returns the reasons of skipped tests.
   */
  async close(fault: string | undefined): Promise<{ readonly skipped: readonly string[] }> {
    const running = [...this.#open.values()].map(({ name }) => name);
    const message = `the guest ended while this ran: ${fault ?? "it powered itself off"}`;
    const failure = { message, stack: message, inside: false };
    for (const [id, { end }] of this.#open) end.resolve({ kind: "ended", id, test: true, failure });
    this.#open.clear();
    await Promise.all(this.#roots);
    assert.equal(fault, undefined, `the guest: ${fault}; running: ${running.join(", ")}`);
    assert.notEqual(this.#closing, undefined, "the guest powered itself off before its last line");
    assert.equal(this.#tests, this.#closing, "tests of the guest are missing here");
    assert.notEqual(this.#files.size, 0, "the guest ran no file");
    for (const [file, tests] of this.#files) assert.notEqual(tests, 0, `${file}: no test ran`);
    return { skipped: this.#skipped };
  }

  #begin(id: string, parent: string | undefined, name: string): void {
    const outer = parent === undefined ? undefined : this.#open.get(parent);
    assert.ok(parent === undefined || outer !== undefined, `${name} began in what has ended`);
    const stage = Promise.withResolvers<Stage>();
    const mirrored: Mirrored = {
      name,
      stage: stage.promise,
      end: Promise.withResolvers(),
      inside: [],
      messages: [],
    };
    this.#open.set(id, mirrored);
    if (outer === undefined) this.#files.set(id, 0);
    const made = (outer?.stage ?? Promise.resolve(this.#top)).then((on) =>
      on.test(outer === undefined ? relative(REPOSITORY, name) : name, async (context) => {
        stage.resolve(context);
        await follow(mirrored, context);
      }),
    );
    (outer?.inside ?? this.#roots).push(made);
  }

  #end(said: Ended): void {
    const mirrored = this.#open.get(said.id);
    assert.ok(mirrored !== undefined, `${said.id} ended, and had not begun`);
    this.#open.delete(said.id);
    if (said.test) {
      this.#tests++;
      const file = said.id.replace(/#\d+$/, "");
      if (said.skipped === undefined) this.#files.set(file, (this.#files.get(file) ?? 0) + 1);
      else this.#skipped.push(said.skipped);
    }
    mirrored.end.resolve(said);
  }
}

/** Is a test of the host for as long as its model runs, and fails as that does. */
async function follow({ end, inside, messages }: Mirrored, context: Stage): Promise<void> {
  const { skipped, failure } = await end.promise;
  await Promise.all(inside);
  for (const message of messages) context.diagnostic(message);
  if (skipped !== undefined) return context.skip(skipped);
  // Otherwise this test fails by itself, by those inside.
  if (failure === undefined || failure.inside) return;
  const error = new Error(failure.message);
  error.stack = failure.stack;
  throw error;
}
