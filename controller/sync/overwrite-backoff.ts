import type { Clock } from "../../common/clock.ts";
import type { Manifest } from "../model/manifest.ts";
import { contentDigest, statusDigest } from "../stores/content-digest.ts";

/** Equal writes without a pause: a user may be trying something out. */
const FREE = 3;
/** Milliseconds of the first pause after that, which doubles, and of the longest. */
const PAUSE = { min: 1000, max: 60_000 } as const;
/** Milliseconds for which a write has to stay that was reverted before: until then it counts as reverted. */
const STAY_MS = 10_000;
/** Milliseconds after which a write is forgotten. */
const MEMORY_MS = 2 * PAUSE.max;

/**
 * Backoff for objects that another writer, such as another implementation of the MCS API, reverts after each write.
 * A manifest with new content is not delayed.
 */
export class OverwriteBackoff {
  readonly #clock: Clock;
  /** By object, the oldest write first. */
  readonly #writes = new Map<string, { digest: string; times: number; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True if the same manifest was written so often that it has to wait. */
  isPaused(key: string, manifest: Manifest): boolean {
    const last = this.#lastOf(key, manifest, FREE);
    if (last === undefined) return false;
    const pause = Math.min(PAUSE.max, PAUSE.min * 2 ** (last.times - FREE));
    return this.#clock.now() - last.at < pause;
  }

  /** True if the manifest was reverted before, and was written so recently that it may be reverted again. */
  isContested(key: string, manifest: Manifest): boolean {
    const last = this.#lastOf(key, manifest, FREE + 1);
    return last !== undefined && this.#clock.now() - last.at < STAY_MS;
  }

  wrote(key: string, manifest: Manifest): void {
    const at = this.#clock.now();
    const digest = digestOf(manifest);
    const last = this.#writes.get(key);
    this.#writes.delete(key);
    for (const [oldest, write] of this.#writes) {
      if (at - write.at < MEMORY_MS) break;
      this.#writes.delete(oldest);
    }
    const isKnown = last?.digest === digest && at - last.at < MEMORY_MS;
    this.#writes.set(key, { digest, times: isKnown ? last.times + 1 : 1, at });
  }

  /** An object that this controller deleted was not reverted: it is created again without a pause. */
  deleted(key: string): void {
    this.#writes.delete(key);
  }

  /** The last write, if it was the same and at least the `least`th one. */
  #lastOf(key: string, manifest: Manifest, least: number) {
    const last = this.#writes.get(key);
    return last && last.times >= least && last.digest === digestOf(manifest) ? last : undefined;
  }
}

/** Without transition times, which differ in each write of the same status. */
function digestOf(manifest: Manifest): string {
  const text = JSON.stringify(manifest, (name, value: unknown) =>
    name === "lastTransitionTime" ? undefined : value,
  );
  const timeless: unknown = JSON.parse(text);
  return `${contentDigest(timeless)} ${statusDigest(timeless)}`;
}
