import type { Cidr } from "../../api/cidr.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import { type KubeProxySight, kubeProxyObjection } from "../backends/ipvs/kube-proxy.ts";

/** Milliseconds between two looks. */
const EVERY = 15_000;

/** What is watched, and for whom. */
export interface KubeProxyWatchOptions {
  readonly look: () => Promise<KubeProxySight>;
  /** The ClusterSet CIDRs. */
  readonly ranges: readonly Cidr[];
  /** What kube-proxy leaves alone, as the operator says. */
  readonly excluded: readonly Cidr[];
  readonly clock: Clock;
  /** Called once, with why we must not write to IPVS beside it; nothing is looked at after that. */
  readonly objected: (objection: string) => void;
}

/**
 * Looks for a kube-proxy that deletes our virtual servers, for as long as we write any: at a boot the agent may be there
 * before it, and its configuration may change. One that does not answer is on its way up or down, and tells nothing; and of
 * one that answers, a page may be missing once.
 */
export class KubeProxyWatch {
  readonly #options: KubeProxyWatchOptions;
  #cancel: Cancel = () => undefined;
  #stopped = false;
  /** True if the last look found a reason. */
  #doubted = false;

  constructor(options: KubeProxyWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(EVERY, () => void this.#look());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  async #look(): Promise<void> {
    const { look, ranges, excluded, objected } = this.#options;
    const sight = await look();
    if (this.#stopped) return;
    const objection =
      sight.mode === undefined ? undefined : kubeProxyObjection(sight, ranges, excluded);
    if (objection !== undefined && this.#doubted) return objected(objection);
    this.#doubted = objection !== undefined;
    this.start();
  }
}
