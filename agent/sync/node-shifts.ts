import { namesOf, type ObjectKey } from "../../api/names.ts";
import { type Shift, shiftText } from "../../api/shift.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { SliceFact } from "../model/facts.ts";
import type { ImportView } from "../model/model.ts";

/** Shifts of a namespace that are tracked; the node does not wait for more. One cluster has one at a time, but slices can be forged. */
const MOST_SHIFTS = 1_000;

/** A shift, and when this node follows it. */
interface Tracked {
  /** Imports with slices that have it, to be planned again then. */
  readonly imports: Set<ObjectKey>;
  waits: boolean;
  readonly cancel: Cancel;
}

/** Dependencies of `NodeShifts`. */
export interface NodeShiftsOptions {
  readonly node: string;
  readonly clock: Clock;
  /** Wall-clock time in milliseconds since 1970: the controller has written when a window begins. */
  readonly today: () => number;
  /** `view` returns another result for this import from now on. */
  readonly moved: (key: ObjectKey) => void;
}

/**
 * When this node follows the shifts of slices: at its share of each window. The wall clock is read once for each shift, and a difference
 * outside of the window counts as its begin or end: a clock that is wrong delays a node by at most one window.
 */
export class NodeShifts {
  readonly #options: NodeShiftsOptions;
  readonly #share: number;
  /** By namespace, so that one cannot keep the node from waiting in another; then by the shift's text. */
  readonly #namespaces = new Map<string, Map<string, Tracked>>();

  constructor(options: NodeShiftsOptions) {
    this.#options = options;
    this.#share = nodeShare(options.node);
  }

  /** The view, with each slice marked whose shift this node does not follow yet. */
  view(view: ImportView): ImportView {
    const { key, slices } = view;
    const texts = new Set(slices.flatMap(({ shift }) => (shift ? [shiftText(shift)] : [])));
    this.#release(key, texts);
    if (texts.size === 0) return view;
    return { ...view, slices: slices.map((slice) => this.#marked(key, slice)) };
  }

  /** Nothing is known of an import any more. */
  gone(key: ObjectKey): void {
    this.#release(key, new Set());
  }

  /** Follows nothing any more. */
  stop(): void {
    for (const shifts of this.#namespaces.values())
      for (const { cancel } of shifts.values()) cancel();
    this.#namespaces.clear();
  }

  #marked(key: ObjectKey, slice: SliceFact): SliceFact {
    if (slice.shift === undefined) return slice;
    const { namespace } = namesOf(key);
    const shifts = this.#namespaces.get(namespace) ?? new Map<string, Tracked>();
    this.#namespaces.set(namespace, shifts);
    const text = shiftText(slice.shift);
    const tracked = shifts.get(text) ?? this.#track(shifts, text, slice.shift);
    tracked?.imports.add(key);
    return tracked?.waits === true ? { ...slice, waits: true } : slice;
  }

  #track(shifts: Map<string, Tracked>, text: string, shift: Shift): Tracked | undefined {
    if (shifts.size >= MOST_SHIFTS) forgetOver(shifts);
    if (shifts.size >= MOST_SHIFTS) return undefined;
    const wait = this.#waitOf(shift);
    const isOver = wait <= 0;
    const end = () => this.#end(tracked);
    const cancel = isOver ? () => undefined : this.#options.clock.after(wait, end);
    const tracked: Tracked = { imports: new Set(), waits: !isOver, cancel };
    shifts.set(text, tracked);
    return tracked;
  }

  #waitOf({ from, length }: Shift): number {
    const elapsed = Math.min(Math.max(0, this.#options.today() - from), length);
    return this.#share * length - elapsed;
  }

  #end(tracked: Tracked): void {
    tracked.waits = false;
    for (const key of tracked.imports) this.#options.moved(key);
  }

  /** Forgets the shifts that no slice has any more, now that those of an import have these. */
  #release(key: ObjectKey, texts: ReadonlySet<string>): void {
    const { namespace } = namesOf(key);
    const shifts = this.#namespaces.get(namespace);
    if (shifts === undefined) return;
    for (const [text, { imports, cancel }] of shifts) {
      if (texts.has(text) || !imports.delete(key) || imports.size > 0) continue;
      cancel();
      shifts.delete(text);
    }
    if (shifts.size === 0) this.#namespaces.delete(namespace);
  }
}

function forgetOver(shifts: Map<string, Tracked>): void {
  for (const [text, { waits }] of shifts) if (!waits) shifts.delete(text);
}

/** 32-bit FNV-1a, and the finalizer of MurmurHash3: names that differ in a digit would otherwise have neighbouring shares. */
const FNV = { offset: 0x811c9dc5, prime: 0x01000193 } as const;
const MIX = [
  [16, 0x85ebca6b],
  [13, 0xc2b2ae35],
] as const;

/** A number in [0, 1) that depends only on the node's name, evenly spread over nodes: its place in a window. PURE. */
export function nodeShare(name: string): number {
  let hash: number = FNV.offset;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, FNV.prime);
  for (const [bits, factor] of MIX) hash = Math.imul(hash ^ (hash >>> bits), factor);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
