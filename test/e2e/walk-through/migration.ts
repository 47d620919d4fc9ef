import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Clusters } from "../../cluster/clusters.ts";
import { eventually } from "../../support/agent-process.ts";
import { Caller } from "../caller.ts";
import { assertNone, deniedIn } from "../denied.ts";
import { blocksOf, blockWith, functionOf } from "../guide.ts";
import { paste } from "../person.ts";
import { TIMEOUT_MS } from "./client.ts";
import { Seen } from "./seen.ts";

const GUIDE = "walk-throughs.md";
const [OLD, NEW] = ["cluster-1", "cluster-2"] as const;
const TARGET = "http://serve.moving.svc.clusterset.local";

/** How long kubelets and controllers may take to follow. */
const PATIENCE_MS = 60_000;

/** From an old cluster to a new one, which at first has nothing of ours: "Migration" of the guide. */
export function migration(clusters: () => Clusters): void {
  const [install = "", identity = "", byHand = "", join = "", exports = "", leave = "", ...more] =
    blocksOf(GUIDE, "Migration");
  const pasted = [
    functionOf(GUIDE, "copy"),
    functionOf("install.md", "identity"),
    functionOf("install.md", "introduce"),
    blockWith("mesh-or-hub.md", "registry_kubeconfig()"),
  ].join("\n");
  const person = (commands: string) => paste(clusters(), `${pasted}\n${commands}`);
  const seen = () => new Seen(clusters(), "moving");
  const product = () => new Seen(clusters(), "clusterset-proxy");

  describe("migration: an old cluster with the product, a new one without", () => {
    let vip: string;
    let caller: Caller;

    test("controllers that do not know who their cluster is say so, and are not ready", async () => {
      assert.deepEqual(more, []);
      await person(install);
      await eventually(async () => {
        const logs = await product().kubectl(
          ...[OLD, "logs", "-l", "app.kubernetes.io/name=clusterset-controller", "--prefix"],
        );
        const sayers = new Set(logs.match(/^\[pod\/\S+(?=.*"identity-missing")/gm));
        assert.equal(sayers.size, 2, logs);
      }, PATIENCE_MS);
      const ready = ".status.readyReplicas";
      assert.equal(await product().field(OLD, "deployment/clusterset-controller", ready), "");
    });

    test("two replicas roll out, and one of them leads", async () => {
      await person(identity);
      assert.match(await leader(), /^clusterset-controller-/);
    });

    test("an import by hand gets an address, and pods of both clusters answer in the old one; the new one has nothing of ours", async () => {
      await person(byHand);
      vip = await seen().vip(OLD, "serve");
      assert.match(vip, /^241\./);
      caller = await Caller.start({ clusters: clusters() }, { ...CALLER, target: TARGET });
      await untilAnsweredBy([...(await podsOf(OLD)), ...(await podsOf(NEW))]);
      const left = await seen().names(NEW, "crds,namespaces", "-A");
      assert.doesNotMatch(left.join(" "), /clusterset|multicluster/);
    });

    test("when the leader's pod is deleted, the other replica gives the next import its address, and the first one keeps its own", async () => {
      const old = await leader();
      await product().kubectl(OLD, "delete", "pod", old, "--wait=false");
      const second = { metadata: { name: "second", namespace: "moving" }, ...IMPORT };
      await clusters().kubectl(OLD, ["apply", "-f", "-"], { stdin: JSON.stringify(second) });
      const other = await eventually(() => seen().vip(OLD, "second"), PATIENCE_MS);
      assert.notEqual(other, vip);
      assert.notEqual(await leader(), old);
      assert.equal(await seen().vip(OLD, "serve"), vip);
    });

    test("the new cluster joins, and what was copied by hand becomes an import of what both export, with the same address", async () => {
      await person(join);
      await person(exports);
      assert.equal(await seen().vip(OLD, "serve"), vip);
      const owners = await seen().field(OLD, "endpointslices", ".items[*].metadata.labels");
      for (const id of [OLD, NEW]) {
        assert.ok(owners.includes(`"multicluster.kubernetes.io/source-cluster":"${id}"`), owners);
      }
      assert.doesNotMatch((await seen().names(OLD, "endpointslices")).join(" "), /imported-/);
      await untilAnsweredBy([...(await podsOf(OLD)), ...(await podsOf(NEW))]);
    });

    test("the old cluster's pods go, the new one's have everything, and of all calls since the first none has failed", async () => {
      await person(leave);
      await untilAnsweredBy(await podsOf(NEW));
      const calls = await caller.stop();
      console.log(
        "slowest",
        calls
          .map(({ ms }) => ms)
          .sort((a, b) => b - a)
          .slice(0, 8),
        calls.length,
      );
      assert.deepEqual(
        calls.filter(({ error }) => error !== undefined),
        [],
      );
      assert.ok(calls.length > 0);
      for (const { plane } of clusters().all) {
        assertNone(deniedIn(plane.auditFile, (at) => plane.wasStarting(at)));
      }
    });

    async function leader(): Promise<string> {
      const holder = await product().field(
        OLD,
        "lease/clusterset-controller",
        ".spec.holderIdentity",
      );
      return holder.split(/[_/ ]/)[0] ?? "";
    }

    async function podsOf(cluster: string): Promise<string[]> {
      return (await seen().pods(cluster, "serve")).names;
    }

    /** Of the calls that begin now, just these pods answer. */
    async function untilAnsweredBy(pods: readonly string[]): Promise<void> {
      await eventually(async () => {
        const recent = (await caller.calls())
          .slice(-60)
          .map(({ name, error = "" }) => name ?? error);
        assert.equal(recent.length, 60);
        assert.deepEqual([...new Set(recent)].sort(), [...pods].sort());
      }, PATIENCE_MS);
    }
  });
}

const CALLER = {
  cluster: OLD,
  namespace: "moving",
  name: "caller",
  timeoutMs: TIMEOUT_MS,
} as const;

const IMPORT = {
  apiVersion: "multicluster.x-k8s.io/v1beta1",
  kind: "ServiceImport",
  spec: { type: "ClusterSetIP", ports: [{ port: 80, protocol: "TCP" }] },
};
