import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { ClusterNode } from "../cluster/cluster-node.ts";
import { now } from "../connections/connections.ts";
import { eventually } from "../stages/agent-process.ts";
import { assertNoneFailed, Caller } from "./caller.ts";
import type { Clusterset } from "./clusterset.ts";
import { effectOf, untilAnswered } from "./effect.ts";
import { rulesOfImport } from "./rules.ts";
import { exported, onEveryNode } from "./web.ts";

/** Where this happens. */
export interface NodeFailureStage {
  readonly set: Clusterset;
  /** Of the clients' cluster: where they run, and the one that loses power. */
  readonly staying: ClusterNode;
  readonly doomed: ClusterNode;
}

/** The clients' cluster, and one whose control plane nothing happens to meanwhile. */
const [LOCAL, OTHER] = ["cluster-1", "cluster-3"] as const;

/** A service on both nodes of the clients' cluster, in a namespace that the others do not have: called by the clusterset's name. */
const PAIR = { cluster: LOCAL, namespace: "pair", name: "pair" };
/** One on the doomed node alone, and in the other cluster: called by its own name. */
const LONE = { namespace: "lone", name: "lone" };

const BY_OTHER = new RegExp(`^${OTHER}-node-1$`);

/** No client of an import that waits for so long loses a connection. */
const TIMEOUT_MS = 8_000;
const PATIENCE_MS = 120_000;

/** A node of the clients' cluster loses power and gets it back, and Kubernetes has to notice both. */
export function nodeFailure(stage: () => NodeFailureStage): void {
  before(async () => {
    const { set, doomed } = stage();
    const far = { cluster: OTHER, ...LONE };
    await Promise.all([
      set.shell(`${onEveryNode(PAIR)}\n${exported(PAIR)}`),
      set.shell(`${onEveryNode(far)}\n${exported(far)}`),
      set.shell(`${onEveryNode({ cluster: LOCAL, ...LONE, only: doomed.name })}
kubectl --context ${LOCAL} -n lone annotate service lone clusterset-proxy.io/cluster-ip-failover=true`),
    ]);
    await eventually(async () => {
      const listed = await set.clusters.kubectl(LOCAL, ["-n", "lone", "get", "endpointslices"]);
      assert.match(listed, new RegExp(`^lone\\.${OTHER}\\.failover\\.`, "m"));
    }, PATIENCE_MS);
  });

  test("a node of the local cluster: calls of an import go to its other pods, and none fails that began later; calls of a Service's own name fail until Kubernetes marks the node NotReady, and then go to another cluster; the node's pods have both again once they are back", async (t) => {
    const { set, staying, doomed } = stage();
    const [byStaying, byDoomed] = [staying, doomed].map(({ name }) => new RegExp(`^${name}$`));
    assert.ok(byStaying && byDoomed);
    const pair = await call("pair", "clusterset.local");
    const lone = await call("lone", "cluster.local");
    await untilAnswered([pair], /./);
    await untilAnswered([lone], byDoomed);
    const off = doomed.powerOff();
    const [imported, own] = await Promise.all([
      effectOf(t, "node off", [pair], byStaying, () => off),
      effectOf(t, "node off, own name", [lone], BY_OTHER, () => off),
    ]);
    assert.equal(imported.failedLater, 0);
    assert.deepEqual(Object.keys(own.failed), ["timeout"]);
    assert.equal((await rulesOfImport(staying, "pair/pair")).match(/ local /g)?.length, 1);
    // Not the caller from before: connection tracking keeps its unanswered connections for two minutes, and a new one from the same
    // port follows them to the doomed node.
    const later = await call("lone", "cluster.local", "later");
    await untilAnswered([later], BY_OTHER);
    const since = now();
    await effectOf(t, "node on, own name", [later], byDoomed, () => doomed.powerOn());
    await eventually(async () => {
      const calls = await pair.calls();
      assert.ok(calls.slice(-20).some(({ name = "" }) => byDoomed.test(name)));
    }, PATIENCE_MS);
    assertNoneFailed([...(await pair.callsSince(since)), ...(await later.calls())]);

    function call(namespace: string, domain: string, name = "caller"): Promise<Caller> {
      const target = `http://${namespace}.${namespace}.svc.${domain}`;
      const place = { cluster: LOCAL, namespace, node: staying.name };
      return Caller.start(set, { ...place, name, target, timeoutMs: TIMEOUT_MS });
    }
  });
}
