import { addressFromHex, type Family } from "../../../api/address.ts";
import type { Drift } from "../backend.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import { tableOf } from "./sets.ts";
import type { KernelService, KernelState } from "./state.ts";

/** What other programs changed between two reads without a transaction of ours in between. PURE. */
export function compare(before: KernelState, found: KernelState, family: Family): Drift[] {
  if (before.rules.length === 0) return [];
  const table = `table ${tableOf(family)}`;
  if (found.rules.length === 0) return [{ reason: "table-missing", what: table }];
  const sameRules = before.rules.join("\n") === found.rules.join("\n");
  const sameSets = !found.foreign && before.explicit.symmetricDifference(found.explicit).size === 0;
  return [
    ...(sameRules && sameSets ? [] : [{ reason: "table-changed", what: table } as const]),
    ...compareServices(before, found),
  ];
}

function compareServices(before: KernelState, found: KernelState): Drift[] {
  const drift: Drift[] = [];
  for (const [key, service] of before.services) {
    const now = found.services.get(key);
    const what = serviceText(key);
    if (now === undefined || !isSame(service, now))
      drift.push({ reason: "elements-changed", what });
  }
  for (const key of found.services.keys())
    if (!before.services.has(key))
      drift.push({ reason: "elements-changed", what: serviceText(key) });
  return drift;
}

function isSame(a: KernelService, b: KernelService): boolean {
  return a.head === b.head && a.affinity === b.affinity && a.digest === b.digest;
}

function serviceText(key: ServiceKey): string {
  const [address = "", protocol, port] = key.split(" ");
  return `${protocol} ${addressFromHex(address).text} ${port}`;
}
