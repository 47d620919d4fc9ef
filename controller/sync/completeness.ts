import type { ObjectKey } from "../../api/names.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import type { Member } from "../stores/member.ts";

/** What a `Completeness` is made of. */
export interface CompletenessOptions {
  /** We, as our registry shows us. */
  readonly member: Pick<Member, "isWatched">;
  readonly clock: Clock;
  /** It is seen, and worth saying now. */
  readonly completed: () => void;
}

/** Milliseconds between the first words of it: who waits for a second one (`Assurance`) need not wait for long. */
const WORD_MS = 2000;
/** How many times it is said so soon: readers come back one after the other. */
const WORDS = 5;
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
  #cancel: Cancel = () => undefined;

  constructor(options: CompletenessOptions) {
    this.#options = options;
  }

  get isSeen(): boolean {
    return this.#isSeen;
  }

  /** All has to be looked at, whatever was before. */
  begin(): void {
    this.#due.clear();
    this.end();
  }

  /** Nothing is seen any more, and nothing said. */
  end(): void {
    this.#isSeen = false;
    this.#cancel();
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
    if (!this.#options.member.isWatched) this.end();
    else if (!this.#isSeen && this.#due.size === 0 && this.#underWay === 0) {
      this.#isSeen = true;
      this.#say(WORDS);
    }
  }

  #say(times: number): void {
    const { clock, completed } = this.#options;
    completed();
    if (times > 1) this.#cancel = clock.after(WORD_MS, () => this.#say(times - 1));
  }
}
