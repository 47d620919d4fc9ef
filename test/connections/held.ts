import type { Process } from "../lab/process.ts";
import { now } from "./attempt.ts";

/** A server writes to it every 100 ms; a silence of this many ms means that it hangs. */
const LONGEST_SILENCE = 2_000;

/** One connection that stays open, and what came over it. */
export class Held {
  /** The server that took it. */
  readonly name: string;
  readonly opened: number;
  readonly #client: Process;
  #verdict: { readonly fault: string | undefined } | undefined;

  /** `client`: a `request --hold` that has printed its first line. */
  constructor(client: Process, first: string) {
    this.#client = client;
    const { at, name } = JSON.parse(first) as { at: number; name: string };
    this.name = name;
    this.opened = at;
  }

  /** Lines received so far. */
  get count(): number {
    return this.#client.lines.length;
  }

  /** Undefined as long as every line has come in order, from the same server, and in time. */
  get fault(): string | undefined {
    return this.#verdict === undefined ? this.#judge() : this.#verdict.fault;
  }

  /** Judges it for good, and closes it. May be repeated. */
  async close(): Promise<void> {
    this.#verdict ??= { fault: this.#judge() };
    await this.#client.stop();
  }

  #judge(): string | undefined {
    let [last, expected] = [this.opened, 1];
    for (const text of this.#client.lines) {
      const said = JSON.parse(text) as { at: number; name?: string; line?: number; error?: string };
      if (said.error !== undefined) return said.error;
      if (said.name !== this.name || said.line !== expected) return `out of order: ${text}`;
      if (said.at - last > LONGEST_SILENCE) return `${Math.round(said.at - last)} ms of silence`;
      [last, expected] = [said.at, expected + 1];
    }
    return now() - last > LONGEST_SILENCE ? "silent" : undefined;
  }
}
