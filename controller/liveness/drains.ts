import type { Cancel, Clock } from "../../common/clock.ts";
import { type Drain, drainText, type PlacedDrain } from "../model/drain.ts";

/** Milliseconds between checks of the wall clock. */
const TICK = 1000;

/** A drain at one moment. */
export interface DrainStatus extends PlacedDrain {
  readonly phase: "planned" | "in-force" | "ended";
}

/** Dependencies of `Drains`. */
export interface DrainsOptions {
  readonly clock: Clock;
  /** Wall-clock time: people state when a drain ends, and all clusters have to agree. */
  readonly today: () => Date;
  /** False: another cluster causes too many changes by its drain, and the next one waits. */
  readonly mayChange: (cluster: string, drain: PlacedDrain) => boolean;
  /** The drain in force of a cluster has changed; undefined: none. `cause`: the one that began or ended. */
  readonly changed: (cluster: string, drain: PlacedDrain | undefined, cause: PlacedDrain) => void;
}

/** The drains of all clusters. Each begins and ends by itself. */
export class Drains {
  readonly #options: DrainsOptions;
  /** By cluster and object. */
  readonly #drains = new Map<string, Map<string, Drain>>();
  /** The last reported drain in force, by cluster. */
  readonly #inForce = new Map<string, PlacedDrain>();
  #cancel: Cancel | undefined;

  constructor(options: DrainsOptions) {
    this.#options = options;
  }

  /** An object states this drain of a cluster; undefined: none. */
  set(cluster: string, where: string, drain: Drain | undefined): void {
    const drains = this.#drains.get(cluster) ?? new Map<string, Drain>();
    if (drain !== undefined) this.#drains.set(cluster, drains.set(where, drain));
    else if (drains.delete(where) && drains.size === 0) this.#drains.delete(cluster);
    this.#compare(cluster);
    this.#wait();
  }

  /** The drain in force of a cluster: of several the one that ends last. */
  inForce(cluster: string): PlacedDrain | undefined {
    return this.#inForce.get(cluster);
  }

  /** All drains of a cluster, the one that ends last first. */
  of(cluster: string): DrainStatus[] {
    const now = this.#options.today().getTime();
    return [...(this.#drains.get(cluster) ?? [])]
      .map(([where, drain]) => ({ ...drain, where, phase: phaseOf(drain, now) }))
      .sort((a, b) => b.until - a.until || (a.where < b.where ? -1 : 1));
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #wait(): void {
    if (this.#cancel !== undefined || this.#drains.size + this.#inForce.size === 0) return;
    this.#cancel = this.#options.clock.after(TICK, () => {
      this.#cancel = undefined;
      const clusters = new Set([...this.#drains.keys(), ...this.#inForce.keys()]);
      for (const cluster of clusters) this.#compare(cluster);
      this.#wait();
    });
  }

  #compare(cluster: string): void {
    const found = this.of(cluster).find(({ phase }) => phase === "in-force");
    const before = this.#inForce.get(cluster);
    const cause = found ?? before;
    if (cause === undefined || JSON.stringify(found) === JSON.stringify(before)) return;
    const isSame = textOf(found) === textOf(before);
    if (!isSame && !this.#options.mayChange(cluster, cause)) return;
    if (found === undefined) this.#inForce.delete(cluster);
    else this.#inForce.set(cluster, found);
    // Another object states the same drain, such as the recorded one.
    if (!isSame) this.#options.changed(cluster, found, cause);
  }
}

function textOf(drain: Drain | undefined): string | undefined {
  return drain && drainText(drain);
}

function phaseOf({ from, until }: Drain, now: number): DrainStatus["phase"] {
  if (now < from) return "planned";
  return now < until ? "in-force" : "ended";
}
