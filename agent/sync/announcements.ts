import type { Family } from "../../api/address.ts";
import type { Drift } from "../backends/backend.ts";
import { driftKey } from "./feud.ts";
import type { ReconcilerEvents } from "./reconciler-events.ts";
import type { SetAside } from "./set-aside.ts";

/** Says what is news of one family: what was told is not told again. */
export class Announcements {
  readonly #family: Family;
  readonly #events: ReconcilerEvents;
  /** Of the drift that the next complete pass repairs. */
  readonly #drift = new Set<string>();
  /** Of services that are set aside. */
  #aside: ReadonlyMap<string, SetAside> = new Map();

  constructor(family: Family, events: ReconcilerEvents) {
    this.#family = family;
    this.#events = events;
  }

  /** A look has found drift, which is repaired in `repairIn` milliseconds. */
  drifted(drift: readonly Drift[], repairIn: number): void {
    for (const each of drift) this.#drift.add(driftKey(each));
    this.#events.drifted({ family: this.#family, drift, repairIn });
  }

  /** Everything was read back, and `drift` found; it is repaired now. */
  readBack(drift: readonly Drift[]): void {
    const news = drift.filter((each) => !this.#drift.has(driftKey(each)));
    this.#drift.clear();
    if (news.length > 0) this.#events.drifted({ family: this.#family, drift: news, repairIn: 0 });
  }

  /** All that is set aside as of now. `error`: what the tool has just said. */
  setAside(all: readonly SetAside[], error?: unknown): void {
    const before = this.#aside;
    if (before.size + all.length === 0) return;
    this.#aside = new Map(all.map((each) => [asideKey(each), each]));
    for (const [key, each] of before) {
      if (!this.#aside.has(key)) this.#events.restored({ family: this.#family, ...each });
    }
    for (const [key, each] of this.#aside) {
      if (!before.has(key)) this.#events.setAside({ family: this.#family, error, ...each });
    }
  }
}

function asideKey({ servicePort, protocol, reason }: SetAside): string {
  return `${servicePort} ${protocol} ${reason}`;
}
