import type { ObjectKey } from "../../api/names.ts";
import type { Clock } from "../../common/clock.ts";
import type { Backend, Ruleset, Transaction } from "../backends/backend.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { Follower } from "./follower.ts";
import type { MassLoss } from "./mass-loss.ts";
import { Slices } from "./slices.ts";
import type { Scope, Trials } from "./trials.ts";
import { unlessStopped } from "./unless-stopped.ts";
import type { WaitingChanges } from "./waiting-changes.ts";
import type { Wanted } from "./wanted.ts";

/** What proposals are made from. */
export interface ProposalOptions<Believed, Changes> {
  readonly backend: Pick<Backend<Believed, Changes, Transaction>, "has" | "count" | "standing">;
  readonly wanted: Wanted;
  readonly follower?: Follower;
  readonly clock: Pick<Clock, "now">;
  readonly changes: WaitingChanges;
  readonly trials: Trials;
  readonly massLoss: MassLoss;
  readonly stop: AbortSignal;
}

/**
 * Takes what is wanted into a ruleset, import by import. What the kernel is not to have, or is not to lose yet, is kept
 * out of it, and the follower is not told of it.
 */
export class Proposals<Believed, Changes> {
  readonly #options: ProposalOptions<Believed, Changes>;

  constructor(options: ProposalOptions<Believed, Changes>) {
    this.#options = options;
  }

  /** Proposes what a pass is about. False if some of it is held back, or if it was stopped meanwhile. */
  async make(ruleset: Ruleset<Changes>, scope: Scope, believed: Believed): Promise<boolean> {
    const { backend, wanted, massLoss, stop } = this.#options;
    const imports = this.#imports(scope);
    if (scope === "changed") return this.#each(imports, ruleset, believed);
    massLoss.begin(() => backend.count(believed));
    const told = new Set(imports.filter(wanted.told));
    const whole = await this.#each(told, ruleset, believed);
    await massLoss.judge(wanted, () => unlessStopped(backend.standing(stop), stop));
    // As of now: of what has become known while the kernel was asked, it may have rules.
    const others = [...wanted.keys()].filter((key) => !told.has(key));
    const rest = new Set([...others, ...massLoss.imports]);
    return (await this.#each(rest, ruleset, believed)) && whole;
  }

  /** The imports that a pass is about. */
  #imports(scope: Scope): readonly ObjectKey[] {
    const { wanted, changes, trials } = this.#options;
    const trial = trials.begin(scope, !changes.any);
    if (trial !== undefined) return [...trial];
    const changed = changes.take();
    trials.takes(changed);
    return [...(scope === "complete" ? wanted.keys() : changed)];
  }

  /** What changes while this lets others run has its turn in the next pass. */
  async #each(
    imports: Iterable<ObjectKey>,
    ruleset: Ruleset<Changes>,
    believed: Believed,
  ): Promise<boolean> {
    const slices = new Slices(this.#options.clock);
    let whole = true;
    for (const key of imports) {
      if (slices.due) await slices.pause();
      if (this.#options.stop.aborted) return false;
      whole = this.#one(key, ruleset, believed) && whole;
    }
    return whole;
  }

  /** False if some of the import is held back. */
  #one(key: ObjectKey, ruleset: Ruleset<Changes>, believed: Believed): boolean {
    const { backend, wanted, follower, trials, massLoss } = this.#options;
    const inKernel = (service: VirtualService) => backend.has(believed, service);
    const again = wanted.services(key);
    const services = again();
    const spared = massLoss.spare(key, services, () => wanted.told(key), inKernel);
    const sifted = trials.sift(key, spared?.live ?? services, inKernel);
    // What is written otherwise than planned is rare: it is not worth the trouble of being made twice.
    const asPlanned = sifted.live === services;
    const kept = [...(spared?.kept ?? []), ...sifted.kept];
    ruleset.set(key, sifted.live, asPlanned ? { again } : { kept });
    if (!sifted.whole || spared !== undefined) return false;
    follower?.proposed(key, sifted.live);
    return true;
  }
}
