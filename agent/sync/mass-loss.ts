import type { ObjectKey } from "../../api/names.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import { isMassLoss } from "../../common/mass-loss.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { Relics, type Spared } from "./relics.ts";
import { Slices } from "./slices.ts";
import type { Wanted } from "./wanted.ts";

/**
 * Milliseconds for which rules stay that nothing tells of. Three times as long as a reflector doubts a list that has
 * lost most: long enough for objects that are just being restored, and for somebody to stop a rollout, which is held
 * up on each node, since that is not ready before.
 */
export const DOUBT_MS = 30_000;

/** What a `MassLoss` needs. */
export interface MassLossOptions {
  readonly clock: Clock;
  /** Of so many services that the kernel has, nothing tells of most. */
  readonly doubted: (lost: number, of: number) => void;
  /** The doubt is over: the rules of so many services go; 0: all are told of again, or their VIPs are others'. */
  readonly believed: (lost: number) => void;
}

/**
 * Doubts the first word of all sources, if it would take away most of what the kernel has from an earlier run: it may
 * be the wrong cluster or directory, an etcd restored from an empty backup, a CRD made anew. What is wanted is
 * written at once; rules that nothing tells of stay until something does, or for `DOUBT_MS`. Only silence is doubted:
 * a slice without a ready endpoint is a word, and so is whatever a watch says after that.
 */
export class MassLoss {
  readonly #options: MassLossOptions;
  #state: "undecided" | "doubted" | "believed" | "settled" = "undecided";
  /** Services that the kernel has, and those of them that were told of. */
  #standing = 0;
  #told = 0;
  readonly #relics = new Relics();
  #cancel: Cancel = () => undefined;
  #stopped = false;

  constructor(options: MassLossOptions) {
    this.#options = options;
  }

  /** Services whose rules stay, though nothing tells of them. */
  get doubted(): number {
    return this.#relics.size;
  }

  /** True if there is no doubt, nor was until just now. */
  get whole(): boolean {
    return this.#state === "undecided" || this.#state === "settled";
  }

  /** True if the doubt is over, and everything is to be compared. */
  get over(): boolean {
    return this.#state === "believed";
  }

  /** Imports whose rules stay. */
  get imports(): ReadonlySet<ObjectKey> {
    return this.#relics.imports;
  }

  /** A complete pass begins. `standing`: how many services the kernel has rules of. */
  begin(standing: () => number): void {
    if (this.#state === "undecided") [this.#standing, this.#told] = [standing(), 0];
  }

  /**
   * What of one import is to be written, and what stays; undefined if it is like all others. `told`: whether any slice
   * tells of its endpoints; `inKernel`: whether the kernel has rules of a service.
   */
  spare(
    key: ObjectKey,
    services: readonly VirtualService[],
    told: () => boolean,
    inKernel: (service: VirtualService) => boolean,
  ): Spared | undefined {
    if (this.#suspicious && told()) this.#told += services.filter(inKernel).length;
    if (this.#state !== "doubted") return undefined;
    const spared = this.#relics.spare(key, services, told());
    if (this.#relics.empty) this.#believe();
    return spared && { ...spared, kept: spared.kept.filter(inKernel) };
  }

  /**
   * Decides, once all that is told of has been through `spare`. `read`: reads which services the kernel has rules of,
   * and gives nothing if it must not go on; at nearly all restarts nobody has to ask.
   */
  async judge(
    wanted: Wanted,
    read: () => Promise<readonly VirtualService[] | undefined>,
  ): Promise<void> {
    if (this.#state !== "undecided") return;
    const standing = this.#suspicious ? await read() : [];
    if (standing === undefined) return;
    const slices = new Slices(this.#options.clock);
    const lost: VirtualService[] = [];
    for (const service of standing) {
      if (slices.due) await slices.pause();
      const { importKey: key } = service;
      if (!wanted.told(key) || wanted.services(key)().length === 0) lost.push(service);
    }
    this.#state = "settled";
    if (!isMassLoss(lost.length, standing.length)) return;
    for (const service of lost) this.#relics.add(service);
    for (const key of [...wanted.keys()]) {
      if (slices.due) await slices.pause();
      this.#relics.spare(key, wanted.services(key)(), wanted.told(key));
    }
    if (this.#relics.empty || this.#stopped) return;
    this.#state = "doubted";
    this.#options.doubted(this.#relics.size, standing.length);
    this.#cancel = this.#options.clock.after(DOUBT_MS, () => this.#believe());
  }

  /** A complete pass has gone through. */
  compared(): void {
    if (this.#state === "believed") this.#state = "settled";
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  /** True while too little is told of what the kernel has: at a restart like any other, for the first half of a pass. */
  get #suspicious(): boolean {
    if (this.#state !== "undecided") return false;
    return isMassLoss(this.#standing - this.#told, this.#standing);
  }

  #believe(): void {
    this.#cancel();
    this.#state = "believed";
    const lost = this.#relics.size;
    this.#relics.clear();
    this.#options.believed(lost);
  }
}
