import type { Shift } from "../../api/shift.ts";
import type { Rotation, RotationState } from "../model/rotation.ts";

/** Milliseconds out of rotation after which a cluster returns node by node: its caches and autoscalers have then adapted to no traffic. */
const LONG_MS = 60_000;

/** Milliseconds by which the clock of the replica before may have been ahead. */
const AHEAD_MS = 60_000;

/** A moment, by both clocks, in milliseconds. */
export interface Moment {
  /** Of the monotonic clock. */
  readonly now: number;
  /** Since 1970: people state when a drain ends, the controller writes when a window begins, and all clusters and nodes have to agree. */
  readonly today: number;
}

/** Seconds of `--drain-window` and `--return-window`; 0: at once. */
export interface Windows {
  readonly drainWindow: number;
  readonly returnWindow: number;
}

/** What is remembered of a cluster in or out of rotation. */
export interface RotationMemory {
  readonly current: Rotation;
  /** When all nodes had left it, in milliseconds of the clock; absent: before a restart, or it is in rotation. */
  readonly outSince?: number;
}

/** Starts with what is recorded of a cluster, so that a restart changes nothing. */
export function beginRotation(recorded: Rotation, moment: Moment): RotationMemory {
  return { current: validRotation(recorded, moment) };
}

/**
 * Takes the window that the leader recorded for the same state, which this replica saw at another moment, or not at all.
 * Another state is newer or older, and no reason to change.
 */
export function adoptRotation(
  before: RotationMemory,
  recorded: Rotation,
  moment: Moment,
): RotationMemory {
  if (before.current.state !== recorded.state) return before;
  return { ...before, current: validRotation(recorded, moment) };
}

/** How a cluster leaves and returns. `drainedFrom`: when the drain in force began, in milliseconds since 1970. */
export function rotate(
  before: RotationMemory,
  isStale: boolean,
  drainedFrom: number | undefined,
  windows: Windows,
  moment: Moment,
): RotationMemory {
  const state: RotationState = isStale ? "stale" : drainedFrom === undefined ? "alive" : "drained";
  const { current } = before;
  if (current.state === state && !(isStale && current.shift)) return before;
  // A cluster that stops responding has no time for a window.
  const length = isStale ? 0 : windowOf(before, state, windows, moment) * 1000;
  const from = drainedFrom ?? moment.today;
  const shift = length > 0 ? { direction: directionOf(state), from, length } : undefined;
  const next = { current: { state, ...(shift !== undefined && { shift }) } };
  if (state === "alive") return next;
  const out = moment.now + (shift === undefined ? 0 : timeLeft(shift, moment));
  if (current.state === "alive") return { ...next, outSince: out };
  return before.outSince === undefined
    ? next
    : { ...next, outSince: Math.min(before.outSince, out) };
}

/** Seconds in which nodes move one by one. */
function windowOf(
  { current, outSince }: RotationMemory,
  state: RotationState,
  windows: Windows,
  moment: Moment,
): number {
  const isRunning = current.shift !== undefined && timeLeft(current.shift, moment) > 0;
  // Nodes that have not left must not leave in order to return, or the reverse.
  if (isRunning) return 0;
  // Nodes have left a stale cluster already.
  if (state === "drained") return current.state === "alive" ? windows.drainWindow : 0;
  const wasLong = outSince === undefined || moment.now - outSince >= LONG_MS;
  return wasLong ? windows.returnWindow : 0;
}

/** Without a window of the other direction, or from the future: the clock of the replica before may have been years ahead. */
function validRotation({ state, shift }: Rotation, { today }: Moment): Rotation {
  const isBegun = shift !== undefined && shift.from <= today + AHEAD_MS;
  return { state, ...(isBegun && shift.direction === directionOf(state) && { shift }) };
}

/** Milliseconds until the end of a window, at most its length. */
function timeLeft({ from, length }: Shift, { today }: Moment): number {
  return length - Math.min(Math.max(0, today - from), length);
}

function directionOf(state: RotationState): Shift["direction"] {
  return state === "alive" ? "returning" : "draining";
}
