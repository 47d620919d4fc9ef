import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluate } from "./evaluate.ts";
import { endpointName } from "./verdict.ts";

const NOW = 100_000;
const members = Array.from({ length: 6 }, (_, i) => {
  return { address: `10.2.0.${i + 1}`, port: 8080, isHere: false };
});

/** Five endpoints are silent to the node and to pod b, and the group has answered pod a ten seconds ago. `accepted`: when they accepted a probe. */
function findings(accepted: number) {
  const group = {
    ...{ name: "demo/web c2 IPv4 8080", namespace: "demo", cluster: "c2", isOwn: false },
    members: new Map(members.map((one) => [endpointName(one), one])),
  };
  const silent = members.slice(0, 5);
  const began = NOW - 2_000;
  const times = { begun: began, ended: NOW - 1_000, accepted };
  const probe = { ...times, isClosed: false, contradicted: 0, silent: [began] };
  return evaluate({
    now: NOW,
    overdue: silent.map(({ address, port }) => {
      return { address, port, syns: 2, repeats: 2, age: 4_000, repeatedAge: 3_000, clients: ["b"] };
    }),
    answered: [{ address: "10.2.0.6", port: 8080, client: "a", age: 10_000 }],
    groups: [group],
    probes: new Map(silent.map((one) => [endpointName(one), { ...probe, result: "silent" }])),
    reachOf: () => "assumed",
    isSeen: () => false,
    isLossy: () => false,
    mayBeLate: () => false,
    hasWaited: () => true,
    rejectedAt: () => Number.NEGATIVE_INFINITY,
    hasExpired: () => false,
    shownAt: () => undefined,
  });
}

test("endpoints that never accepted a probe and reject a pod are no witnesses that their group is dead", () => {
  assert.ok(!findings(Number.NEGATIVE_INFINITY).some(({ isSilent }) => isSilent));
  assert.deepEqual(
    findings(0).map(({ reason }) => reason),
    ["group-unanswered"],
  );
});
