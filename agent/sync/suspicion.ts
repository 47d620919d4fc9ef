import type { ObjectKey } from "../../api/names.ts";
import type { Isolation } from "./isolation.ts";
import type { Unit } from "./unit.ts";

/** What a transaction was to make live. */
export interface Proposal {
  /** Imports that had changed since the last one. */
  readonly changed: ReadonlySet<ObjectKey>;
  /** Services: those of these imports, or all. */
  readonly units: Unit[];
}

const NONE: ReadonlySet<ObjectKey> = new Set();

/**
 * Whom to suspect of what the kernel refuses. Once may be chance. Twice, the second time after everything was read
 * back, means that something in it will be refused for ever: all of it is held, those that had changed being the
 * likeliest. If the kernel does not even take the rest, it is no service's fault.
 */
export class Suspicion {
  #refusals = 0;
  #changed = NONE;
  #base = false;

  /** True while it is open whom to suspect: no trial would say anything. */
  get open(): boolean {
    return this.#refusals > 0 || this.#base;
  }

  /** A pass has gone through. */
  passed(): void {
    this.#refusals = 0;
    this.#changed = NONE;
    this.#base = false;
  }

  /** A pass that was no trial was refused. True if services are held because of it. */
  refused({ changed, units }: Proposal, isolation: Isolation): boolean {
    this.#refusals++;
    if (this.#base) {
      this.passed();
      isolation.abandon();
    } else if (this.#refusals === 1) {
      this.#changed = changed;
    } else if (units.length > 0) {
      const isLikely = ({ key }: Unit) => this.#changed.has(key) || changed.has(key);
      const likely = units.filter(isLikely);
      const others = units.filter((unit) => !isLikely(unit));
      isolation.begin(others, likely);
      this.passed();
      this.#base = true;
      return true;
    }
    return false;
  }
}
