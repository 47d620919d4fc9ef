import type { ObjectKey } from "../../api/names.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import type { Member } from "../stores/member.ts";

/** What a `Completeness` is made of. */
export interface CompletenessOptions {
  /** We, as our registry shows us. */
  readonly member: Pick<Member, "isWatched">;
  /** It is seen from now on, and worth saying. */
  readonly completed: () => void;
}

/** Answers that are about the export itself: it is not going to be there, and nobody must wait for it. */
const REFUSED: readonly FaultReason[] = ["invalid", "refused"];

/**
 * Whether all that we export lies in our registry, so that our Lease may say so. It is seen once all of the registry is
 * watched, and every export, and every record that is there, has been looked at since; and no more once a connection was
 * lost: who answers next may be a server that has lost everything.
 */
export class Completeness {
  readonly #options: CompletenessOptions;
  /** Names that are about to be looked at, or could not be published. */
  readonly #due = new Set<ObjectKey>();
  /** Names that are being looked at. */
  #underWay = 0;
  #isSeen = false;

  constructor(options: CompletenessOptions) {
    this.#options = options;
  }

  get isSeen(): boolean {
    return this.#isSeen;
  }

  /** All has to be looked at, whatever was before. */
  begin(): void {
    this.#due.clear();
    this.#isSeen = false;
  }

  /** A name is about to be looked at. */
  due(key: ObjectKey): void {
    this.#due.add(key);
  }

  /** A name is looked at: `act` makes what is published by it what it should be. Throws what it throws. */
  async publish(key: ObjectKey, act: () => Promise<void>): Promise<void> {
    this.#due.delete(key);
    this.#underWay++;
    try {
      await act();
    } catch (thrown) {
      if (!(thrown instanceof ApiFault && REFUSED.includes(thrown.reason))) this.#due.add(key);
      throw thrown;
    } finally {
      this.#underWay--;
      this.look();
    }
  }

  /** The connections to our registry may be others than before. */
  look(): void {
    const { completed, member } = this.#options;
    if (!member.isWatched) this.#isSeen = false;
    else if (!this.#isSeen && this.#due.size === 0 && this.#underWay === 0) {
      this.#isSeen = true;
      completed();
    }
  }
}
