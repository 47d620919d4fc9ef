import type { ObjectKey } from "../../api/names.ts";
import type { SetAside } from "./set-aside.ts";
import type { Unit } from "./unit.ts";

/** What is known of a service that is not like all others. */
export interface Standing {
  readonly unit: Unit;
  /** It waits to be tried: meanwhile the kernel keeps what it has of it. */
  held: boolean;
  /** It is tried as it was planned, whatever was found before. */
  tried: boolean;
  /** Its next trial is the one without affinity. */
  plain: boolean;
  /** What was found. */
  found: SetAside | undefined;
  /** What the service was like when that was found. */
  terms: string;
}

/** The standings of all services that have one, by import. */
export class Standings {
  readonly #byImport = new Map<ObjectKey, Map<string, Standing>>();

  get({ key, id }: Unit): Standing | undefined {
    return this.#byImport.get(key)?.get(id);
  }

  /** Those of one import, by `Unit.id`; undefined if it has none, as nearly all imports. */
  of(key: ObjectKey): ReadonlyMap<string, Standing> | undefined {
    return this.#byImport.get(key);
  }

  all(): Standing[] {
    return [...this.#byImport.values()].flatMap((standings) => [...standings.values()]);
  }

  /** The standing of a service, a new one if it has none. */
  open(unit: Unit): Standing {
    const known = this.get(unit);
    if (known !== undefined) return known;
    const standing = { unit, held: true, tried: false, plain: false, found: undefined, terms: "" };
    const standings = this.#byImport.get(unit.key) ?? new Map<string, Standing>();
    this.#byImport.set(unit.key, standings.set(unit.id, standing));
    return standing;
  }

  /** The service is like all others. */
  close({ key, id }: Unit): void {
    const standings = this.#byImport.get(key);
    standings?.delete(id);
    if (standings?.size === 0) this.#byImport.delete(key);
  }
}
