import { BY_HAND, fromByHand } from "./by-hand.ts";
import { CILIUM, fromCilium } from "./cilium.ts";
import { CLOUD_MAP, fromCloudMap } from "./cloud-map.ts";
import type { Found } from "./found.ts";
import { fromKarmada, KARMADA } from "./karmada.ts";
import type { Migration, Source, SourceKind } from "./migration.ts";
import { fromSubmariner, SUBMARINER } from "./submariner.ts";

/** What is known of each implementation, and what happens to its objects. */
export const FROM: Readonly<
  Record<Source, SourceKind & { readonly migrate: (found: Found) => Migration }>
> = {
  karmada: { ...KARMADA, migrate: fromKarmada },
  cloudmap: { ...CLOUD_MAP, migrate: fromCloudMap },
  submariner: { ...SUBMARINER, migrate: fromSubmariner },
  cilium: { ...CILIUM, migrate: fromCilium },
  "by-hand": { ...BY_HAND, migrate: fromByHand },
};
