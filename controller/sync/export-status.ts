import type { ObjectKey } from "../../api/names.ts";
import type { RegistryKind } from "../config/flags.ts";
import { exportClaims } from "../import/export-claims.ts";
import { type News, newsworthy } from "../import/newsworthy.ts";
import { exportStatus } from "../import/status-manifest.ts";
import type { Claim } from "../model/condition.ts";
import type { Seen } from "../stores/fact-store.ts";
import type { OwnCluster } from "../stores/own-cluster.ts";
import type { Applier } from "./applier.ts";
import type { ExportOutcome } from "./exporter.ts";
import type { Exports } from "./importer.ts";

/** What an `ExportStatus` is made of. */
export interface ExportStatusOptions {
  readonly own: OwnCluster;
  readonly applier: Applier;
  readonly registry: RegistryKind;
  readonly outcome: (key: ObjectKey) => ExportOutcome | undefined;
  /** What is known, as of now, of what clusters export by a name. */
  readonly exports: (key: ObjectKey) => Exports;
  /** False while a cluster that exports the name may not have been listed. */
  readonly isComplete: (key: ObjectKey, exports: Exports) => boolean;
  /** The time of day in milliseconds since 1970. */
  readonly today: () => number;
  /** What its author should hear of. */
  readonly news: (object: Seen, news: readonly News[]) => void;
  /** What is claimed of an export that is there; none: it is gone. */
  readonly claimed: (key: ObjectKey, claims: readonly Claim[]) => void;
}

/** Tells authors of ServiceExports what has become of them: conditions `Valid`, `Ready` and `Conflict`. */
export class ExportStatus {
  readonly #options: ExportStatusOptions;

  constructor(options: ExportStatusOptions) {
    this.#options = options;
  }

  /** Makes the conditions of one export what they should be. Throws what the API server answered. */
  async reconcile(key: ObjectKey): Promise<void> {
    const { own, applier, registry, today, claimed } = this.#options;
    const fact = own.exports.fact(key);
    const seen = own.exports.seen(key);
    const outcome = this.#options.outcome(key);
    if (fact === undefined) claimed(key, []);
    if (fact === undefined || seen === undefined || outcome === undefined) return;
    const exports = this.#options.exports(key);
    const { merged } = exports;
    const claims = exportClaims({
      ...outcome,
      registry,
      ...(merged !== undefined && { merged }),
      isComplete: this.#options.isComplete(key, exports),
      seen: fact.conditions,
    });
    const written = await applier.applyStatus(exportStatus(fact, claims, today()), seen);
    if (written) this.#options.news(seen, newsworthy(claims, fact.conditions));
    claimed(key, claims);
  }
}
