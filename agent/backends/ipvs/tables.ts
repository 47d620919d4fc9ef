import { arpMarksOf, renderArpElements, renderArpTable } from "./arp.ts";
import {
  type GuardOptions,
  marksOf as guardMarksOf,
  renderElements as renderGuardElements,
  renderTable as renderGuardTable,
} from "./guard.ts";
import type { GuardSets } from "./state.ts";

/** All rules of one family: the guard, and with IPv4 what keeps VIPs out of ARP. They stand and fall together. */

/** The comments of all rules, in their order. PURE. */
export function marksOf(options: GuardOptions): string[] {
  const guard = guardMarksOf(options);
  return hasArp(options) ? [...guard, ...arpMarksOf(options.clusterSetCidr)] : guard;
}

/** The whole tables, in place of those that may be there, as input of nft; one transaction. PURE. */
export function renderTables(options: GuardOptions, sets: GuardSets): string {
  const guard = renderGuardTable(options, sets);
  if (!hasArp(options)) return guard;
  const elements = renderArpElements(new Set(), sets.explicit).map((line) => `${line}\n`);
  return [renderArpTable(options.clusterSetCidr), guard, ...elements].join("");
}

/** What turns the elements of the sets from one into the other. PURE. */
export function renderElements(
  { family }: Pick<GuardOptions, "family">,
  before: GuardSets,
  after: GuardSets,
): string[] {
  const guard = renderGuardElements(family, before, after);
  if (!hasArp({ family })) return guard;
  return [...guard, ...renderArpElements(before.explicit, after.explicit)];
}

function hasArp({ family }: Pick<GuardOptions, "family">): boolean {
  return family === "IPv4";
}
