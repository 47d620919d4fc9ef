import { nftGeneration } from "./nft-generation.ts";

/**
 * Counts the transactions that other programs have committed to nftables, so that rules are read back only after one. The
 * kernel counts those of all programs; ours are subtracted.
 */
export class NftCommits {
  readonly #generation: () => Promise<number>;
  #own = 0;
  #inFlight = 0;
  /** Transactions begun; each also makes a count that is under way invalid. */
  #begun = 0;
  #failed = 0;

  /** `generation`: reads the kernel's count. */
  constructor(generation: () => Promise<number> = nftGeneration) {
    this.#generation = generation;
  }

  /** Runs a transaction of ours, which resolves to the number of its commits. */
  async run(transaction: () => Promise<number>): Promise<void> {
    this.#begun++;
    this.#inFlight++;
    try {
      this.#own += await transaction();
    } catch (error) {
      // It is unknown what was committed.
      this.#failed++;
      throw error;
    } finally {
      this.#inFlight--;
    }
  }

  /**
   * Equal results mean that no other program has committed anything between two calls. Undefined if that is unknown: a
   * transaction of ours is in flight, or the kernel does not answer. Never rejects.
   */
  async ofOthers(): Promise<string | undefined> {
    const begun = this.#begun;
    if (this.#inFlight > 0) return undefined;
    // Unknown, so that the caller reads the rules back; what that cannot do either, it reports.
    const generation = await this.#generation().catch(() => undefined);
    if (generation === undefined || this.#begun !== begun) return undefined;
    return `${generation - this.#own} ${this.#failed}`;
  }
}
