import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { StagedCluster } from "../staged-cluster.ts";
import { Witness } from "../witness.ts";
import { FELLOW, type Pair } from "./pair.ts";

const RBAC = "rbac.authorization.k8s.io";
const CHANGES = 50;
/** Writes after which a leader is stopped that has many more to do. */
const UNDER_WAY = 5;
/** As many writes as `Flow` makes at the same time: so many may wait for an answer, or for a connection. */
const MOST_LATE = 16;
/** Milliseconds of rest in which nothing may be written. */
const REST_MS = 3000;

/** Lets c1's second controller have a Lease of any name, which no file of deploy/rbac does. */
async function allowAnyLease({ plane: { admin } }: StagedCluster): Promise<void> {
  const apiVersion = `${RBAC}/v1`;
  const metadata = { namespace: "clusterset-proxy", name: "any-lease" };
  const rules = [
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "update"] },
  ];
  const subjects = [{ kind: "User", apiGroup: RBAC, name: FELLOW }];
  const roleRef = { kind: "Role", apiGroup: RBAC, name: metadata.name };
  await admin.apply({ apiVersion, kind: "Role", metadata, rules });
  await admin.apply({ apiVersion, kind: "RoleBinding", metadata, subjects, roleRef });
}

/** Two controllers of one cluster. */
export function leaderItems(pair: () => Pair): void {
  test("a controller with another Lease name lacks the right and logs that; with the right, both controllers write the same state and become idle", async () => {
    const { c1, churn } = pair();
    await using fellow = pair().fellow("--leader-election-id", "by-mistake");
    await fellow.launch();
    await fellow.untilLogged("Cannot reach the election Lease");
    assert.match(await fellow.page("/readyz"), /\[-\]election failed: not-listed/);
    await allowAnyLease(c1);
    await fellow.untilLogged("this replica reconciles");

    await using witness = new Witness(c1);
    await pair().change(CHANGES);
    await Promise.all([churn.settled(fellow), fellow.atRest()]);
    const writes = () => [c1, fellow].map((one) => one.writes().length);
    const before = writes();
    assert.ok(
      before.every((count) => count > 0),
      `both have written: ${before.join()}`,
    );
    await sleep(REST_MS);
    assert.deepEqual(writes(), before);
    assert.deepEqual(witness.faults, []);
  });

  test("a leader that was stopped during its work until another took over changes nothing after SIGCONT", async () => {
    const { c1, churn } = pair();
    await c1.untilLogged("this replica reconciles");
    await using fellow = pair().fellow();
    await fellow.launch();
    await fellow.untilLogged('"reason":"standby"');
    await using witness = new Witness(c1);
    // Once before, so that the leader has connections for so much at once.
    await churn.scaleAll(c1);
    const burst = churn.scaleAll(c1);
    await witness.writesMore(UNDER_WAY, REST_MS);
    c1.process.signal("SIGSTOP");
    await burst;
    await fellow.untilLogged("this replica reconciles");
    await pair().change(CHANGES);
    const before = c1.writes();
    c1.process.signal("SIGCONT");
    await c1.untilLogged('"reason":"standby"');
    await churn.settled(fellow);
    // What waited for a connection is sent before the clock is looked at: it meets objects that are others by now, or gone. Of
    // what was sent by half, the rest does not come any more (504).
    const late = c1.writes().slice(before.length);
    assert.ok(late.length <= MOST_LATE, JSON.stringify(late));
    for (const { code, uri } of late) assert.ok([404, 409, 504].includes(code), `${code} ${uri}`);
    assert.deepEqual(witness.faults, []);
    await fellow.stop();
  });
}
