import type { Concern } from "./concern.ts";

/**
 * Endpoints that left in one go. A SYN that was sent to one of them just before may still be answered, so that until the
 * departure is settled nothing is judged unanswered that leads there.
 */
export interface Departure {
  /** Where to look once it is settled. */
  readonly concern: Concern;
  /** Who took the connections of each destination until then, as `Target.takers`; absent: it may have been anybody. */
  readonly takers?: ReadonlyMap<string, string>;
}

/** Departures that are not settled yet: all that is remembered of what was, and for less than a second. */
export class Departures {
  readonly #open = new Set<Departure>();
  #version = 0;

  /** Another number whenever somebody has left. */
  get version(): number {
    return this.#version;
  }

  add(departure: Departure): void {
    this.#version++;
    this.#open.add(departure);
  }

  /** Enough time has passed. */
  settle(departure: Departure): void {
    this.#open.delete(departure);
  }

  /** Who may still answer for a destination, a text for each time that somebody left; undefined if anybody may. */
  of(destination: string): readonly string[] | undefined {
    const texts: string[] = [];
    for (const { takers } of this.#open) {
      if (takers === undefined) return undefined;
      const text = takers.get(destination);
      if (text !== undefined) texts.push(text);
    }
    return texts;
  }

  /** True if somebody may still answer for it who no longer takes its connections. */
  has(destination: string): boolean {
    return this.of(destination)?.length !== 0;
  }
}
