import type { Isolation } from "./isolation.ts";
import type { Unit } from "./unit.ts";

/** The services that a transaction was to make live. */
export interface Proposal {
  /** True if that is everything, false if it is what had changed. */
  readonly complete: boolean;
  readonly units: Unit[];
}

/**
 * Whom to suspect of what the kernel refuses. Once may be chance. Twice, the second time after everything was read
 * back, means that something in it will be refused for ever: all of it is held, those that had changed at first
 * being the likeliest. If the kernel does not even take the rest, it is no service's fault.
 */
export class Suspicion {
  #refusals = 0;
  #changed: readonly Unit[] = [];
  #base = false;

  /** True while it is open whom to suspect: no trial would say anything. */
  get open(): boolean {
    return this.#refusals > 0 || this.#base;
  }

  /** A pass has gone through. */
  passed(): void {
    this.#refusals = 0;
    this.#changed = [];
    this.#base = false;
  }

  /** A pass that was no trial was refused. True if services are held because of it. */
  refused({ complete, units }: Proposal, isolation: Isolation): boolean {
    this.#refusals++;
    if (this.#base) {
      this.passed();
      isolation.abandon();
    } else if (this.#refusals === 1) {
      this.#changed = complete ? [] : units;
    } else if (units.length > 0) {
      const names = new Set(this.#changed.map(nameOf));
      const likely = units.filter((unit) => names.has(nameOf(unit)));
      const others = units.filter((unit) => !names.has(nameOf(unit)));
      isolation.begin(others, likely);
      this.passed();
      this.#base = true;
      return true;
    }
    return false;
  }
}

function nameOf({ key, id }: Unit): string {
  return `${key} ${id}`;
}
