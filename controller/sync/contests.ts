import type { Clock } from "../../common/clock.ts";
import type { Manifest } from "../model/manifest.ts";
import { contentDigest, statusDigest } from "../stores/content-digest.ts";

/** Times that an object is made to say the same without a pause: a person who tries something out is no opponent. */
const FREE = 3;
/** Milliseconds of the pause after that, which doubles. */
const PAUSE = { min: 1000, max: 60_000 } as const;
/** Milliseconds after the last write for which it is remembered. */
const MEMORY_MS = 2 * PAUSE.max;

/**
 * Objects that somebody else turns back whenever they have been made to say what they should, such as another
 * implementation of the MCS-API in the same cluster: two that write as fast as they can would never end. What is to say
 * something new is not held up.
 */
export class Contests {
  readonly #clock: Clock;
  /** What was written, by object, the longest ago first. */
  readonly #writes = new Map<string, { said: string; times: number; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True if an object was made to say just this so often that it is not done again yet. */
  isPaused(key: string, manifest: Manifest): boolean {
    const last = this.#writes.get(key);
    if (last === undefined || last.times < FREE || last.said !== sayingOf(manifest)) return false;
    const pause = Math.min(PAUSE.max, PAUSE.min * 2 ** (last.times - FREE));
    return this.#clock.now() - last.at < pause;
  }

  /** An object was made to say this. */
  wrote(key: string, manifest: Manifest): void {
    const at = this.#clock.now();
    const said = sayingOf(manifest);
    const last = this.#writes.get(key);
    this.#writes.delete(key);
    for (const [oldest, write] of this.#writes) {
      if (at - write.at < MEMORY_MS) break;
      this.#writes.delete(oldest);
    }
    const isKnown = last?.said === said && at - last.at < MEMORY_MS;
    this.#writes.set(key, { said, times: isKnown ? last.times + 1 : 1, at });
  }
}

/** Stands for what a manifest says; since when a condition holds is no news. */
function sayingOf(manifest: Manifest): string {
  const text = JSON.stringify(manifest, (name, value: unknown) =>
    name === "lastTransitionTime" ? undefined : value,
  );
  const said: unknown = JSON.parse(text);
  return `${contentDigest(said)} ${statusDigest(said)}`;
}
