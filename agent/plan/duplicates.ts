import { compareText } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Candidate } from "./candidates.ts";

/**
 * An address and port is one destination, to which routing prefers the nearest cluster: so the nearest candidate counts, in
 * any condition. Among equals, the better condition counts, then the first by name, then the nearer endpoint; never the
 * order of a list, which the API does not guarantee.
 */
export function withoutDuplicates(candidates: readonly Candidate[]) {
  const distinct = new Map<string, Candidate>();
  const duplicates: { candidate: Candidate; reason: Reason }[] = [];
  for (const candidate of [...candidates].sort(preferred)) {
    const destination = `${candidate.address} ${candidate.port}`;
    const winner = distinct.get(destination);
    if (winner === undefined) distinct.set(destination, candidate);
    else {
      const same = winner.origin.cluster === candidate.origin.cluster;
      duplicates.push({ candidate, reason: same ? "duplicate-endpoint" : "duplicate-address" });
    }
  }
  return { distinct: [...distinct.values()].sort(byDestination), duplicates };
}

const CONDITIONS = ["ready", "serving", "terminating", "not-ready"] as const;

function preferred(a: Candidate, b: Candidate): number {
  return (
    a.tier - b.tier ||
    CONDITIONS.indexOf(a.condition) - CONDITIONS.indexOf(b.condition) ||
    compareText(a.origin.cluster ?? "", b.origin.cluster ?? "") ||
    compareText(a.slice, b.slice) ||
    nearness(b) - nearness(a)
  );
}

function nearness({ onThisNode, inThisZone }: Candidate): number {
  return 2 * Number(onThisNode) + Number(inThisZone);
}

function byDestination(a: Candidate, b: Candidate): number {
  return compareText(a.address, b.address) || a.port - b.port;
}
