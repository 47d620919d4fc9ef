import type { ObjectKey } from "../../api/names.ts";
import { type Shift, shiftText } from "../../api/shift.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { SliceFact } from "../model/facts.ts";
import type { ImportView } from "../model/model.ts";
import { nodeShare } from "../model/node-share.ts";

/** Shifts that are tracked; the node does not wait for more. One cluster has one at a time, but slices can be forged. */
const MOST_SHIFTS = 1_000;

/** A shift, and when this node follows it. */
interface Tracked {
  /** Imports to plan again then. */
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
  /** By the shift's text. */
  readonly #shifts = new Map<string, Tracked>();

  constructor(options: NodeShiftsOptions) {
    this.#options = options;
    this.#share = nodeShare(options.node);
  }

  /** The view, with each slice marked whose shift this node does not follow yet. */
  view(view: ImportView): ImportView {
    if (view.slices.every(({ shift }) => shift === undefined)) return view;
    return { ...view, slices: view.slices.map((slice) => this.#marked(view.key, slice)) };
  }

  /** Follows nothing any more. */
  stop(): void {
    for (const { cancel } of this.#shifts.values()) cancel();
    this.#shifts.clear();
  }

  #marked(key: ObjectKey, slice: SliceFact): SliceFact {
    if (slice.shift === undefined) return slice;
    const text = shiftText(slice.shift);
    const tracked = this.#shifts.get(text) ?? this.#track(text, slice.shift);
    if (tracked?.waits !== true) return slice;
    tracked.imports.add(key);
    return { ...slice, waits: true };
  }

  #track(text: string, shift: Shift): Tracked | undefined {
    const wait = this.#waitOf(shift);
    if (this.#shifts.size >= MOST_SHIFTS) this.#forget();
    if (this.#shifts.size >= MOST_SHIFTS) return undefined;
    const isOver = wait <= 0;
    const end = () => this.#end(tracked);
    const cancel = isOver ? () => undefined : this.#options.clock.after(wait, end);
    const tracked: Tracked = { imports: new Set(), waits: !isOver, cancel };
    this.#shifts.set(text, tracked);
    return tracked;
  }

  #waitOf({ from, length }: Shift): number {
    const elapsed = Math.min(Math.max(0, this.#options.today() - from), length);
    return this.#share * length - elapsed;
  }

  #end(tracked: Tracked): void {
    tracked.waits = false;
    for (const key of tracked.imports) this.#options.moved(key);
    tracked.imports.clear();
  }

  /** Forgets shifts that are over. */
  #forget(): void {
    for (const [text, { waits }] of this.#shifts) if (!waits) this.#shifts.delete(text);
  }
}
