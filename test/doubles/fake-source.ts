import assert from "node:assert/strict";
import type { Source, SourceEvents } from "../../agent/sources/source.ts";

/** A source that emits a test's events. */
export class FakeSource implements Source {
  readonly name = "fake";
  stopped = false;
  #events: SourceEvents | undefined;

  start(events: SourceEvents): void {
    this.#events = events;
  }

  async stop(): Promise<void> {
    this.stopped = true;
  }

  /** Tells the agent. */
  get tell(): SourceEvents {
    assert.ok(this.#events, "the agent has not started its source");
    return this.#events;
  }
}
