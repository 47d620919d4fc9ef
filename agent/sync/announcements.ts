import type { Family } from "../../api/address.ts";
import type { Drift } from "../backends/backend.ts";
import type { QuarantinedService } from "./quarantined-service.ts";
import type { ReconcilerEvents } from "./reconciler-events.ts";
import { driftKey } from "./repair-pace.ts";

/** Reports what is new for one family, and nothing twice. */
export class Announcements {
  readonly #family: Family;
  readonly #events: ReconcilerEvents;
  /** Drift that was reported, and that the next complete pass repairs. */
  readonly #drift = new Set<string>();
  #quarantined: ReadonlyMap<string, QuarantinedService> = new Map();

  constructor(family: Family, events: ReconcilerEvents) {
    this.#family = family;
    this.#events = events;
  }

  /** A check has found drift, which is repaired in `repairIn` milliseconds. */
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

  /** All services that are quarantined now. */
  quarantined(all: readonly QuarantinedService[]): void {
    const before = this.#quarantined;
    if (before.size + all.length === 0) return;
    this.#quarantined = new Map(all.map((each) => [keyOf(each), each]));
    for (const [key, each] of before) {
      if (this.#quarantined.has(key)) continue;
      this.#events.unquarantined({ ...each, family: this.#family, error: undefined });
    }
    for (const [key, each] of this.#quarantined) {
      if (!before.has(key)) this.#events.quarantined({ ...each, family: this.#family });
    }
  }
}

function keyOf({ servicePort, protocol, reason }: QuarantinedService): string {
  return `${servicePort} ${protocol} ${reason}`;
}
