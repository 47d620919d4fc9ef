import type { Shift } from "../../api/shift.ts";
import type { Clock } from "../../common/clock.ts";
import type { Rotation, RotationState } from "../model/rotation.ts";

/** Milliseconds out of rotation after which a cluster returns node by node: its caches and autoscalers have then adapted to no traffic. */
const LONG_MS = 60_000;

/** Milliseconds by which the clock of the replica before may have been ahead. */
const AHEAD_MS = 60_000;

/** Dependencies of `Rotations`. */
export interface RotationsOptions {
  readonly clock: Clock;
  /** Wall-clock time: the controller writes when a window begins, and nodes read it. */
  readonly today: () => Date;
  /** Seconds of `--drain-window` and `--return-window`; 0: at once. */
  readonly windows: { readonly drainWindow: number; readonly returnWindow: number };
}

interface Entry {
  readonly rotation: Rotation;
  /** When all nodes had left it, in milliseconds of the clock; absent: before a restart, or it is in rotation. */
  readonly outSince?: number;
}

/** Whether each cluster is in rotation, and how it leaves and returns. */
export class Rotations {
  readonly #options: RotationsOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: RotationsOptions) {
    this.#options = options;
  }

  /** Starts with what is recorded of a cluster, so that a restart changes nothing. */
  begin(cluster: string, recorded: Rotation): void {
    this.#entries.set(cluster, { rotation: this.#valid(recorded) });
  }

  /**
   * Takes the window that the leader recorded for the same state, which this replica saw at another moment, or not at all.
   * Another state is newer or older, and no reason to change. Returns true if `of` has changed.
   */
  adopt(cluster: string, recorded: Rotation): boolean {
    const entry = this.#entries.get(cluster);
    const rotation = this.#valid(recorded);
    if (entry === undefined || entry.rotation.state !== recorded.state) return false;
    if (JSON.stringify(rotation) === JSON.stringify(entry.rotation)) return false;
    this.#entries.set(cluster, { ...entry, rotation });
    return true;
  }

  /** Undefined for an unknown cluster. */
  of(cluster: string): Rotation | undefined {
    return this.#entries.get(cluster)?.rotation;
  }

  /** `drainedFrom`: when the drain in force began, in milliseconds since 1970. Returns true if `of` has changed. */
  update(cluster: string, isStale: boolean, drainedFrom: number | undefined): boolean {
    const entry = this.#entries.get(cluster);
    if (entry === undefined) return false;
    const next = this.#next(entry, isStale, drainedFrom);
    const hasChanged = JSON.stringify(next) !== JSON.stringify(entry.rotation);
    if (hasChanged) this.#entries.set(cluster, { rotation: next, ...this.#outSince(entry, next) });
    return hasChanged;
  }

  forget(cluster: string): void {
    this.#entries.delete(cluster);
  }

  #next(entry: Entry, isStale: boolean, drainedFrom: number | undefined): Rotation {
    const { today, windows } = this.#options;
    const { rotation: before } = entry;
    // A cluster that stops responding has no time for a window.
    if (isStale) return { state: "stale" };
    const state = drainedFrom === undefined ? "alive" : "drained";
    if (before.state === state) return before;
    // Nodes have left a stale cluster already.
    const isOut = before.state !== "alive" && state === "drained";
    // Nodes that have not left must not leave in order to return, or the reverse.
    const seconds =
      isOut || this.#isRunning(before)
        ? 0
        : state === "drained"
          ? windows.drainWindow
          : this.#wasLong(entry)
            ? windows.returnWindow
            : 0;
    if (seconds === 0) return { state };
    const from = drainedFrom ?? today().getTime();
    return { state, shift: { direction: directionOf(state), from, length: seconds * 1000 } };
  }

  /** Without a window of the other direction, or from the future: the clock of the replica before may have been years ahead. */
  #valid({ state, shift }: Rotation): Rotation {
    const isBegun = shift !== undefined && shift.from <= this.#options.today().getTime() + AHEAD_MS;
    return { state, ...(isBegun && shift.direction === directionOf(state) && { shift }) };
  }

  #isRunning({ shift }: Rotation): boolean {
    return shift !== undefined && this.#leftOf(shift) > 0;
  }

  #wasLong({ outSince }: Entry): boolean {
    return outSince === undefined || this.#options.clock.now() - outSince >= LONG_MS;
  }

  #outSince(before: Entry, { state, shift }: Rotation): Pick<Entry, "outSince"> {
    if (state === "alive") return {};
    const left = shift === undefined ? 0 : this.#leftOf(shift);
    const outSince = this.#options.clock.now() + left;
    if (before.rotation.state === "alive") return { outSince };
    return before.outSince === undefined ? {} : { outSince: Math.min(before.outSince, outSince) };
  }

  /** Milliseconds until the end of a window, at most its length. */
  #leftOf({ from, length }: Shift): number {
    const elapsed = this.#options.today().getTime() - from;
    return length - Math.min(Math.max(0, elapsed), length);
  }
}

function directionOf(state: RotationState): Shift["direction"] {
  return state === "alive" ? "returning" : "draining";
}
