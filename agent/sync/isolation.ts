import type { ObjectKey } from "../../api/names.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { Search } from "./search.ts";
import { type SetAside, setAside } from "./set-aside.ts";
import { type Standing, Standings } from "./standings.ts";
import { type Unit, unitOf } from "./unit.ts";

/** One import's services, as they are to be written now. */
export interface Sifted {
  readonly live: readonly VirtualService[];
  /** Those whose rules stay as the kernel has them, until they are tried. */
  readonly kept: readonly VirtualService[];
  /** False if some service waits to be tried. */
  readonly whole: boolean;
}

/** Services that went through without their affinity, after which others are not tried with it one by one. */
const HOPELESS = 3;
/** Services that are tried again at one time, because all may be as guilty as before. */
const RETRIED = 8;

/**
 * Keeps apart what the kernel refuses. Services under suspicion are held: nothing of theirs is written or deleted.
 * Group after group is then tried on top of what has gone through, until those are known that are refused alone.
 * With affinity, a service is tried without before it is set aside altogether.
 */
export class Isolation {
  readonly #standings = new Standings();
  #search = Search.over<Unit>();
  #trial: readonly Unit[] | undefined;
  /** Who is held with the suspects only because it went in together with them. */
  #others: readonly Unit[] = [];
  /** What is set aside, and was not tried since the last comparison. */
  #retries: Unit[] = [];
  /** True if affinity is what is refused, as far as can be told: on some nodes the kernel has no memory for it. */
  #hopeless = false;

  /** True while services wait to be tried. */
  get holding(): boolean {
    return this.#search.next !== undefined;
  }

  /** True if those have their turn who had not changed when something was refused: they are all but sure to go through. */
  get unsuspected(): boolean {
    return this.holding && this.#search.next === this.#others;
  }

  /** True while the transaction that is made is a trial. */
  get trying(): boolean {
    return this.#trial !== undefined;
  }

  /** All that is set aside. */
  get list(): SetAside[] {
    return this.#standings.all().flatMap(({ found }) => (found === undefined ? [] : [found]));
  }

  /** What of one import is set aside. */
  of(key: ObjectKey): SetAside[] {
    const standings = [...(this.#standings.of(key)?.values() ?? [])];
    return standings.flatMap(({ found }) => (found === undefined ? [] : [found]));
  }

  /**
   * What of one import's services is to be written. `inKernel`: whether the kernel has rules of a service. One that
   * is set aside and has changed in more than its endpoints is suspected anew, which is: tried again.
   */
  sift(
    key: ObjectKey,
    services: readonly VirtualService[],
    inKernel: (service: VirtualService) => boolean,
  ): Sifted {
    const standings = this.#standings.of(key);
    if (standings === undefined) return { live: services, kept: [], whole: true };
    const gone = new Set(standings.keys());
    const live: VirtualService[] = [];
    const kept: VirtualService[] = [];
    let whole = true;
    for (const service of services) {
      const standing = standings.get(unitOf(service).id);
      gone.delete(unitOf(service).id);
      if (standing === undefined) {
        live.push(service);
        continue;
      }
      const { found, held, tried } = standing;
      if (found && !held && !tried && standing.terms !== termsOf(service)) {
        this.#suspect([standing.unit], "last");
      }
      if (standing.held) {
        whole = false;
        if (inKernel(service)) kept.push(service);
      } else live.push(...this.#asFound(service, standing));
    }
    for (const id of gone) this.#standings.close({ key, id });
    return { live, kept, whole };
  }

  /** Suspects services that went in together: `others` are tried first, who changed last is the likeliest culprit. */
  begin(others: readonly Unit[], suspects: readonly Unit[]): void {
    this.#others = others;
    this.#suspect(suspects, "first");
    this.#suspect(others, "first");
  }

  /** No service is to blame: nothing is held any more. What was set aside stays so. */
  abandon(): void {
    this.#search = Search.over();
    this.#trial = undefined;
    for (const standing of this.#standings.all()) this.#release(standing);
  }

  /** Makes the next pass a trial: gives the imports that it is about. */
  try(): ReadonlySet<ObjectKey> {
    this.#trial = this.#search.next ?? [];
    const spared = this.list.filter(({ reason }) => reason === "affinity-unsupported");
    this.#hopeless = spared.length >= HOPELESS;
    for (const unit of this.#trial) {
      const standing = this.#standings.get(unit);
      if (standing === undefined) continue;
      standing.held = false;
      standing.tried = !standing.plain;
    }
    return new Set(this.#trial.map(({ key }) => key));
  }

  /** The trial has gone through: those that were tried are like all others. */
  accepted(): void {
    for (const unit of this.#trial ?? []) {
      const standing = this.#standings.get(unit);
      if (standing === undefined) continue;
      if (standing.tried) standing.found = undefined;
      this.#release(standing);
    }
    if (this.#trial !== undefined) this.#search = this.#search.accepted();
    this.#trial = undefined;
    if (!this.holding && this.#retries.length > 0) this.#retrySome();
  }

  /** The trial says nothing, because something else went wrong: it is made again. */
  undecided(): void {
    for (const unit of this.#trial ?? []) {
      const standing = this.#standings.get(unit);
      if (standing !== undefined) [standing.held, standing.tried] = [true, false];
    }
    this.#trial = undefined;
  }

  /** The trial was refused. `service`: what is wanted of a unit now. */
  refused(service: (unit: Unit) => VirtualService | undefined): void {
    const trial = this.#trial ?? [];
    this.undecided();
    this.#search = this.#search.refused();
    const [unit] = trial;
    if (trial.length === 1 && unit !== undefined) this.#blame(unit, service(unit));
  }

  /** Everything has been compared: what is set aside is tried again, a few at a time, for as long as they go through. */
  reconsider(): void {
    this.#retries = this.#standings
      .all()
      .flatMap(({ unit, found }) => (found === undefined ? [] : [unit]));
    if (!this.holding) this.#retrySome();
  }

  #retrySome(): void {
    this.#suspect(this.#retries.splice(0, RETRIED), "last");
  }

  #suspect(units: readonly Unit[], turn: "first" | "last"): void {
    for (const unit of units) {
      const standing = this.#standings.open(unit);
      [standing.held, standing.plain] = [true, false];
    }
    const anew = Search.over(units);
    this.#search = turn === "first" ? this.#search.after(anew) : anew.after(this.#search);
  }

  #blame(unit: Unit, service: VirtualService | undefined): void {
    const standing = this.#standings.get(unit);
    if (standing === undefined || service === undefined) {
      this.#standings.close(unit);
      return;
    }
    const spared = service.affinitySeconds !== undefined && !standing.plain;
    const reason = spared ? "affinity-unsupported" : "refused-by-kernel";
    standing.found = setAside(service, reason);
    standing.terms = termsOf(service);
    standing.held = spared;
    standing.plain = spared;
    // At the next comparison they have their turn; those behind them are as hopeless as this one was.
    this.#retries = [];
    if (spared) this.#search = this.#search.after(Search.over([unit]));
  }

  #asFound(service: VirtualService, standing: Standing): VirtualService[] {
    const affine = service.affinitySeconds !== undefined;
    if (standing.tried && standing.found === undefined && affine && this.#hopeless) {
      standing.found = setAside(service, "affinity-unsupported");
      standing.terms = termsOf(service);
      [standing.tried, standing.plain] = [false, true];
    }
    const { found, tried } = standing;
    if (found === undefined || tried) return [service];
    if (found.reason === "refused-by-kernel") return [];
    const { affinitySeconds: _affinity, ...plain } = service;
    return [plain];
  }

  #release(standing: Standing): void {
    [standing.held, standing.tried, standing.plain] = [false, false, false];
    if (standing.found === undefined) this.#standings.close(standing.unit);
  }
}

/** All of a service that may be what is refused, besides its endpoints: they come and go too often. */
function termsOf({ portName, vips, affinitySeconds, scheduler }: VirtualService): string {
  return JSON.stringify([portName, vips, affinitySeconds, scheduler]);
}
