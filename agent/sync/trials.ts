import type { ObjectKey } from "../../api/names.ts";
import type { Clock } from "../../common/clock.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { Allowance } from "./allowance.ts";
import { Isolation, type Sifted } from "./isolation.ts";
import type { SetAside } from "./set-aside.ts";
import { type Proposal, Suspicion } from "./suspicion.ts";
import { type Unit, unitOf } from "./unit.ts";

/** What a pass is about: what has changed, or everything. */
export type Scope = "changed" | "complete";

/** What is known when a pass has failed. */
export interface Refusal {
  /** True if the tool has read the transaction and does not want it. */
  readonly refused: boolean;
  /** True for an import that has changed since it was proposed. */
  readonly changed: (key: ObjectKey) => boolean;
  /** What is wanted of a service now. */
  readonly wanted: (unit: Unit) => VirtualService | undefined;
}

/**
 * The search for what the kernel refuses, as seen from the passes: which of them is a trial, and what comes of it.
 * A trial is about nothing else; changes and trials take turns, so that nobody waits for the end of a search.
 */
export class Trials {
  readonly #isolation = new Isolation();
  readonly #suspicion = new Suspicion();
  readonly #allowance: Allowance;
  #proposal: Proposal = { changed: new Set(), units: [] };
  /** True if the last pass was a trial. */
  #tried = false;
  #found = false;

  /** `refilled` is called whenever a trial may be made that was too many before. */
  constructor(clock: Clock, refilled: () => void) {
    this.#allowance = new Allowance(clock, refilled);
  }

  /** True if the next pass may be a trial. Whoever uses up all trials must not hold up those who had no part in it. */
  get due(): boolean {
    const { holding, unsuspected } = this.#isolation;
    return holding && !this.#suspicion.open && (this.#allowance.left || unsuspected);
  }

  /** True if a search is over, and what came of it is to be compared. */
  get found(): boolean {
    return this.#found;
  }

  /** True if no service is held back, nor was until just now. */
  get whole(): boolean {
    return !this.#isolation.holding && !this.#found;
  }

  /** All that is set aside. */
  get setAside(): readonly SetAside[] {
    return this.#isolation.list;
  }

  /** What of one import is set aside. */
  of(key: ObjectKey): readonly SetAside[] {
    return this.#isolation.of(key);
  }

  /**
   * A pass begins; `quiet`: nothing has changed. Gives the imports that it is about if it is a trial, and nothing
   * else is compared.
   */
  begin(scope: Scope, quiet: boolean): ReadonlySet<ObjectKey> | undefined {
    this.#proposal = { changed: new Set(), units: [] };
    const turn = quiet || (scope === "changed" && !this.#tried);
    const trial = this.due && turn ? this.#isolation.try() : undefined;
    return scope === "changed" ? trial : undefined;
  }

  /** The pass that begins is no trial of some services only; these imports have changed since the last. */
  takes(changed: ReadonlySet<ObjectKey>): void {
    this.#proposal = { changed, units: [] };
  }

  /** What of one import the pass may write. `inKernel`: whether the kernel has rules of a service. */
  sift(
    key: ObjectKey,
    services: readonly VirtualService[],
    inKernel: (service: VirtualService) => boolean,
  ): Sifted {
    const sifted = this.#isolation.sift(key, services, inKernel);
    for (const service of sifted.live) this.#proposal.units.push(unitOf(service));
    return sifted;
  }

  /** The pass has gone through. True if it was a trial. */
  accepted(): boolean {
    const { trying, holding } = this.#isolation;
    this.#isolation.accepted();
    this.#found = holding && !this.#isolation.holding;
    this.#tried = trying;
    this.#suspicion.passed();
    return trying;
  }

  /**
   * The pass has failed. `trial`: it was one, and its refusal was to be expected; `held`: what it was to write is
   * under suspicion now.
   */
  failed({ refused, changed, wanted }: Refusal): "trial" | "held" | "failure" {
    this.#tried = this.#isolation.trying;
    if (refused && this.#tried) {
      this.#trialRefused(changed, wanted);
      return "trial";
    }
    this.#isolation.undecided();
    const held = refused && this.#suspicion.refused(this.#proposal, this.#isolation);
    return held ? "held" : "failure";
  }

  /** Everything was compared after a long time: what is set aside gets another chance. */
  reconsider(): void {
    this.#isolation.reconsider();
  }

  stop(): void {
    this.#allowance.stop();
  }

  #trialRefused(changed: Refusal["changed"], wanted: Refusal["wanted"]): void {
    this.#allowance.spend();
    // What has changed since the trial began may have been part of it, and be what was refused.
    if (this.#proposal.units.some(({ key }) => changed(key))) {
      this.#isolation.undecided();
      return;
    }
    this.#isolation.refused(wanted);
    this.#found = !this.#isolation.holding;
  }
}
