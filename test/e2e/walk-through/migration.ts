import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import type { Clusters } from "../../cluster/clusters.ts";
import { eventually } from "../../stages/agent-process.ts";
import { assertNoneFailed, Caller } from "../caller.ts";
import { assertNone, deniedIn } from "../denied.ts";
import { blockWith, functionOf } from "../guide.ts";
import type { Reader } from "../reader.ts";
import { TIMEOUT_MS } from "./client.ts";
import { GUIDE, PATIENCE_MS, parts, readerOf, unread } from "./follow.ts";
import { Seen } from "./seen.ts";

const [OLD, NEW] = ["cluster-1", "cluster-2"] as const;

/** Latest calls, so many that each of four pods has answered one of them, but for one run in 10⁶. */
const LATEST = 60;

const CALLER = {
  ...{ cluster: OLD, namespace: "moving", name: "caller", timeoutMs: TIMEOUT_MS },
  target: "http://serve.moving.svc.clusterset.local",
} as const;

/** From an old cluster to a new one, which at first has nothing of ours: "Migration" of the guide. */
export function migration(clusters: () => Clusters): void {
  const seen = () => new Seen(clusters(), "moving");
  const product = () => new Seen(clusters(), "clusterset-proxy");

  describe("migration: an old cluster with the product, a new one without", () => {
    const test = parts();
    let reader: Reader;
    let vip: string;
    let caller: Caller;
    /** What clusters denied in an earlier story does not count. */
    let began = 0;
    before(async () => {
      began = Date.now();
      reader = readerOf(clusters());
      const pasted = ["identity", "introduce"].map((name) => functionOf("install.md", name));
      await reader.paste(pasted.join("\n"));
      await reader.paste(blockWith("mesh-or-hub.md", "registry_kubeconfig()"));
      await reader.paste(functionOf(GUIDE, "copy"));
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("controllers that do not know who their cluster is say so, and are not ready", async () => {
      await reader.follow("Install in the old cluster");
      const label = ["-l", "app.kubernetes.io/name=clusterset-controller"];
      await eventually(async () => {
        const logs = await product().kubectl(OLD, "logs", ...label, "--prefix");
        const sayers = new Set(logs.match(/^\[pod\/\S+(?=.*"identity-missing")/gm));
        assert.equal(sayers.size, 2, logs);
      }, PATIENCE_MS);
      const ready = ".status.readyReplicas";
      assert.equal(await product().field(OLD, "deployment/clusterset-controller", ready), "");
    });

    test("two replicas roll out, and one of them leads", async () => {
      await reader.follow("Set the old cluster's identity");
      await eventually(async () => assert.match(await leader(), /^clusterset-controller-/));
    });

    test("an import by hand gets an address, and pods of both clusters answer in the old one; the new one has nothing of ours", async () => {
      await reader.follow("Send half of the connections to the new cluster");
      vip = await seen().vip(OLD, "serve");
      const pods = [...(await podsOf(OLD)), ...(await podsOf(NEW))];
      await eventually(async () => {
        const rules = await seen().rules(OLD, "moving/serve");
        assert.equal(rules.filter((rule) => rule.includes("DNAT")).length, pods.length);
      }, PATIENCE_MS);
      caller = await Caller.start({ clusters: clusters() }, CALLER);
      await untilAnsweredBy(pods);
      const left = await seen().names(NEW, "crds,namespaces", "-A");
      assert.doesNotMatch(left.join(" "), /clusterset|multicluster/);
    });

    test("when the leader's pod is deleted, the other replica goes on: imports without an address get one, and all others keep theirs", async () => {
      const old = await leader();
      await product().kubectl(OLD, "delete", "pod", old, "--wait=false");
      await author("second", {});
      await author("third", { ips: ["1.2.3.4"] });
      const second = await eventually(() => seen().vip(OLD, "second"), PATIENCE_MS);
      assert.notEqual(second, vip);
      assert.notEqual(await leader(), old);
      assert.equal(await seen().vip(OLD, "serve"), vip);
      assert.equal(await seen().vip(OLD, "third"), "1.2.3.4");
    });

    test("the new cluster joins, and what was copied by hand becomes an import of what both export, with the same address", async () => {
      await reader.follow("Add the new cluster");
      await reader.follow("Export from both clusters");
      assert.equal(await seen().vip(OLD, "serve"), vip);
      await untilAnsweredBy([...(await podsOf(OLD)), ...(await podsOf(NEW))]);
    });

    test("the old cluster's pods go, the new one's have everything, and of all calls since the first none has failed", async () => {
      await reader.follow("Scale the old cluster to zero");
      await untilAnsweredBy(await podsOf(NEW));
      assertNoneFailed(await caller.stop());
      assert.deepEqual(unread(reader, "Migration"), []);
      for (const { plane } of clusters().all) {
        assertNone(deniedIn(plane.auditFile, (at) => at < began || plane.wasStarting(at)));
      }
    });

    async function leader(): Promise<string> {
      const lease = "lease/clusterset-controller";
      const holder = await product().field(OLD, lease, ".spec.holderIdentity");
      return holder.split(/[_/ ]/)[0] ?? "";
    }

    /** Writes an import by hand. */
    async function author(name: string, spec: object): Promise<void> {
      const manifest = {
        apiVersion: "multicluster.x-k8s.io/v1beta1",
        kind: "ServiceImport",
        metadata: { name, namespace: "moving" },
        spec: { type: "ClusterSetIP", ports: [{ port: 80, protocol: "TCP" }], ...spec },
      };
      await clusters().kubectl(OLD, ["apply", "-f", "-"], { stdin: JSON.stringify(manifest) });
    }

    async function podsOf(cluster: string): Promise<string[]> {
      return (await seen().pods(cluster, "serve")).names;
    }

    /** The latest calls reached each of these pods, and no other. */
    async function untilAnsweredBy(pods: readonly string[]): Promise<void> {
      await eventually(async () => {
        const latest = (await caller.calls()).slice(-LATEST);
        assert.equal(latest.length, LATEST);
        const names = latest.map(({ name, error = "" }) => name ?? error);
        assert.deepEqual([...new Set(names)].sort(), [...pods].sort());
      }, PATIENCE_MS);
    }
  });
}
