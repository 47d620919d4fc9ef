import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { registryNamespace } from "../../../controller/registry/names.ts";
import { eventually } from "../../stages/agent-process.ts";
import { apiServerFiles } from "../api-server.ts";
import { peerSecret } from "../controller-stage.ts";
import { IMPORT, type StagedCluster } from "../staged-cluster.ts";
import { inlineKubeconfigOf } from "../user.ts";
import { Witness } from "../witness.ts";
import type { Pair } from "./pair.ts";

const PATIENCE_MS = 30_000;
/** Names of a burst, and how many of them have been published when the API server is killed. */
const BURST = 40;
const PUBLISHED = 6;
const READER = { namespace: registryNamespace("c1"), name: "c2" };
const KEY = "token/web";
const ADDRESS = "10.1.251.1";

/** The service account by which c2 reads what c1 publishes. */
const ACCOUNT = { apiVersion: "v1", kind: "ServiceAccount", metadata: READER };

/** Creates the service account in c1, and gives c2 its token. */
async function introduce(c1: StagedCluster, c2: StagedCluster): Promise<void> {
  const { admin, directory, url } = c1.plane;
  await admin.apply(ACCOUNT);
  const { namespace, name } = READER;
  await admin.apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { namespace, name: "service-accounts" },
    subjects: [{ kind: "ServiceAccount", namespace, name }],
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "clusterset-registry-reader",
    },
  });
  const { body } = await admin.request("POST", `${await admin.pathOf(ACCOUNT)}/token`, {
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  });
  const { token } = (body as { readonly status: { readonly token: string } }).status;
  const ca = readFileSync(apiServerFiles(directory).ca);
  const user = { name, groups: [], token };
  const kubeconfig = JSON.stringify(inlineKubeconfigOf({ server: url, ca, user }));
  await c2.plane.admin.apply({ ...(await peerSecret(c1)), stringData: { kubeconfig } });
}

/** Faults of the API server of c1, as its own controller and c2's see them. */
export function apiServerItems(pair: () => Pair): void {
  test("when an API server is killed during a burst of exports, no export is lost, and the peer keeps its imports", async () => {
    const { c1, c2, churn } = pair();
    await using witness = new Witness(c2);
    const keys = Array.from({ length: BURST }, (_, i) => `burst/web-${i}`);
    for (const cluster of [c1, c2]) await cluster.namespace("burst");
    const burst = (async () => {
      for (const key of keys) {
        // Requests to an API server that is down are repeated.
        await eventually(async () => {
          await c1.serve(key, ["10.1.252.1"]);
          await c1.export(key);
        }, PATIENCE_MS);
      }
    })();
    await eventually(async () => {
      const records = await c1.list(IMPORT, registryNamespace("c1"));
      const published = records.filter(({ metadata }) => metadata.name.endsWith(".burst"));
      assert.ok(published.length >= PUBLISHED);
    }, PATIENCE_MS);
    await c1.plane.kill();
    await c1.plane.start();
    await burst;
    for (const cluster of [c1, c2]) {
      for (const key of keys) await cluster.untilImported(key, ["10.1.252.1"]);
    }
    for (const key of keys) await c1.untilCondition(key, "Ready", "True Ready");
    await churn.settled();
    assert.deepEqual(witness.deleted, []);
    assert.deepEqual(witness.faults, []);
  });

  test("with a revoked token a peer becomes stale, with the reason; with another token, all is as before", async () => {
    const { c1, c2 } = pair();
    for (const cluster of [c1, c2]) await cluster.namespace("token");
    await c1.serve(KEY, [ADDRESS]);
    await c1.export(KEY);
    await introduce(c1, c2);
    await c2.untilReady(KEY, { [ADDRESS]: "ready" });
    await using witness = new Witness(c2);
    await c1.plane.admin.delete(ACCOUNT);
    // Open watches continue: an API server checks tokens when a request begins.
    await c1.plane.stop();
    await c1.plane.start();
    await c2.untilReady(KEY, { [ADDRESS]: "serving" });
    await c2.untilLogged('"reason":"unauthorized"');
    const metrics = await c2.page("/metrics");
    assert.match(metrics, /^clusterset_controller_cluster_up{member="c1"} 0$/m);
    assert.match(metrics, /^clusterset_controller_cluster_alive{member="c1"} 0$/m);
    await c1.endpoints(KEY, [ADDRESS, "10.1.251.2"]);
    await introduce(c1, c2);
    await c2.untilReady(KEY, { [ADDRESS]: "ready", "10.1.251.2": "ready" });
    await pair().churn.settled();
    assert.deepEqual(witness.deleted, []);
    assert.deepEqual(witness.faults, []);
  });
}
