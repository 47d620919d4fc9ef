import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { conditionOf } from "../../cli/view/status.ts";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { Clusters } from "../cluster/clusters.ts";
import { eventually } from "../stages/agent-process.ts";
import { Caller } from "./caller.ts";
import { assertNone, deniedIn } from "./denied.ts";
import { effectOf, untilAnswered } from "./effect.ts";
import { blockWith, commandsOf } from "./guide.ts";
import { productImages } from "./images.ts";
import { Kustomization } from "./kustomization.ts";
import { paste, Reader } from "./reader.ts";
import { ownRules, tracesIn } from "./rules.ts";
import { exported, web } from "./web.ts";

// The hub of docs/guides/mesh-or-hub.md, by copy and paste: two clusters, and an API server outside of them. Agents and
// controllers with the components of deploy/components. When that is uninstalled, the first cluster shows the guide for Helm.

const CLUSTER = "cluster-1";
const SERVICE = { cluster: CLUSTER, namespace: "helm", name: "web" };
const VALUES = join(import.meta.dirname, "../..", `${CLUSTER}.values.yaml`);

/** What is left by the guide: objects of users, and what keeps connections alive. */
const LEFT =
  /^(customresourcedefinition|namespace\/clusterset-proxy$|endpointslice|ipaddress|[-:].*CSP-)/;

const GUIDE = "mesh-or-hub.md";

let clusters: Clusters;
after(() => clusters?.remove());

describe("two clusters that share a hub", () => {
  before(async () => {
    const regions = ["eu-west", "us-east"];
    clusters = await Clusters.create({ clusters: 3, regions, images: await productImages() });
    using own = new Kustomization("hub", ["dual-stack", "metrics", "preflight"]);
    using theirs = new Kustomization("hub", ["dual-stack", "privileged"]);
    // The names that the guide has for them.
    await paste(
      clusters,
      `kubectl config set-context c1 --cluster=cluster-1 --user=cluster-1
       kubectl config set-context c2 --cluster=cluster-2 --user=cluster-2
       kubectl config set-context hub --cluster=cluster-3 --user=cluster-3
       deploy/crds/install c1
       deploy/crds/install c2
       kubectl --context c1 apply -k ${own.folder}
       kubectl --context c2 apply -k ${theirs.folder}`,
    );
  });

  test("a pod of one gets a response from a pod of the other, and neither cluster has sent requests to the other's API server", async () => {
    // Clusters that do not reach each other's API servers are what a hub is for.
    await clusters.cut("cluster-1", "cluster-2", "api");
    await paste(clusters, `${blockWith(GUIDE, "registry_kubeconfig()")}\n${steps("c1", "1")}`);
    await paste(clusters, `${blockWith(GUIDE, "registry_kubeconfig()")}\n${steps("c2", "2")}`);
    const said = await paste(clusters, TRY);
    const answers = said.match(/"name":"web-[^"]*","source":"[^"]*"/g) ?? [];
    assert.equal(answers.length, 2, said);
    assert.match(answers[0] ?? "", /"source":"10\.1\./);
    assert.match(answers[1] ?? "", /"source":"fd00:10:1:/);
  });

  test("agents with the right to enter pods' network namespaces have verified that pods' packets pass the rules", async () => {
    const node = clusters.cluster("cluster-1").node("node-1");
    const ready = ["curl", "-s", "172.20.1.12:10269/readyz?verbose"];
    // Pods are looked at once a minute.
    await eventually(async () => {
      const said = await node.host.exec(ready);
      for (const check of ["route", "pods", "extensions", "forwarding"]) {
        assert.ok(said.includes(`[+]preflight-${check}-IPv4 ok`), said);
      }
      assert.ok(said.includes("[+]preflight-lock ok"), said);
    }, 120_000);
  });

  test("a privileged agent behaves like an agent with only the capabilities that it needs", async () => {
    // The same, but for how near the endpoint is, and for hairpins, which only its own node has.
    const rules = async (id: string) => {
      const all = await ownRules(clusters.cluster(id).node("node-1"));
      const lines = all.split("\n").filter((line) => !line.includes("--comment hairpin"));
      return lines.map((line) => line.replace(/ (?:local|regional) c2"/, ' c2"'));
    };
    const argv = ["-n", "clusterset-proxy", "get", "daemonset", "clusterset-agent", "-o", "json"];
    for (const [id, isPrivileged] of Object.entries({ "cluster-1": false, "cluster-2": true })) {
      const { spec } = JSON.parse(await clusters.kubectl(id, argv));
      assert.equal(spec.template.spec.containers[0].securityContext.privileged, isPrivileged, id);
    }
    const there = await rules("cluster-2");
    assert.deepEqual(there, await rules("cluster-1"));
    assert.match(there.join("\n"), /"shop\/web:80 c2" -j DNAT/);
  });

  test("a cluster is drained on the hub, and back: connections move in all clusters, and none fails", async (t) => {
    await paste(clusters, SECOND);
    const vip = JSON.parse(await clusters.kubectl("cluster-1", IMPORT)).spec.ips[0];
    const calls = { namespace: "shop", name: "stream", target: `tcp://${vip}:80` };
    const client = (cluster: string) =>
      Caller.start({ clusters }, { cluster, ...calls, timeoutMs: 10_000 });
    const [own, other] = await Promise.all([client("cluster-2"), client("cluster-1")]);
    await untilAnswered([own], /^web-/);
    // Names of contexts; it is c2 that is drained.
    const adapt = (commands: string) =>
      commands.replaceAll("cluster-1", "c2").replaceAll("cluster-2", "c1");
    await using reader = new Reader(clusters, "maintenance.md", { adapt });
    await reader.paste("USER=ann");
    const out = () => reader.follow("On the hub");
    assert.deepEqual((await effectOf(t, "drained", [own], /^second-/, out)).failed, {});
    const drained = / Drained: c2 until \S+Z by ann \(power failure\)\.$/;
    await eventually(async () => assert.match(await readyMessage("cluster-1"), drained));
    assert.match(await readyMessage("cluster-2"), drained);
    const back = () => reader.follow("Drained on the hub");
    assert.deepEqual((await effectOf(t, "undrained", [own], /^web-/, back)).failed, {});
    await eventually(async () =>
      assert.match(await readyMessage("cluster-1"), /^ClusterSetIP(?!.*Drained)/),
    );
    for (const { name = "" } of await other.stop()) assert.match(name, /^second-/);
    await own.stop();
  });

  test("neither the clusters' API servers nor the hub denied any request of agents, controllers or members", () => {
    assertNone(clusters.all.flatMap(({ plane }) => deniedIn(plane.auditFile)));
  });

  test("after an uninstallation as in the guide, the clusters and the hub have no object of ours", async () => {
    const guide = "uninstall.md";
    // Contexts are those of the other guide.
    await Promise.all(
      ["c1", "c2"].map(async (id) => {
        const adapt = (commands: string) => commands.replaceAll("cluster-2", id);
        await using reader = new Reader(clusters, guide, { adapt });
        await reader.follow("With a hub");
        await reader.follow("4. Clean the nodes");
      }),
    );
    await using reader = new Reader(clusters, guide);
    await reader.follow("The hub itself");
    for (const { id } of clusters.all) assert.deepEqual(await tracesIn(clusters, id), []);
  });

  async function readyMessage(id: string): Promise<string> {
    return conditionOf(JSON.parse(await clusters.kubectl(id, IMPORT)), "Ready")?.message ?? "";
  }

  /** The guide's text for c1, with this cluster's addresses. */
  function steps(cluster: string, number: string): string {
    const { url } = clusters.cluster("cluster-3").plane;
    const guide = `${commandsOf(GUIDE, "Set up a hub")}\n${blockWith(GUIDE, "kind: ClusterProperty")}`;
    return guide
      .replaceAll("https://hub.example.com:6443", url)
      .replaceAll("10.1.0.0/16,fd00:1::/48", `10.${number}.0.0/16,fd00:10:${number}::/48`)
      .replaceAll(/\bc1\b/g, cluster);
  }
});

test("the guide for Helm: installed, upgraded without a restarted pod, and uninstalled, which leaves exports, imports and rules", async () => {
  await using reader = new Reader(clusters, "helm.md");
  await reader.paste(`PATH=${dirname(kubernetesCommand("helm"))}:$PATH`);
  const uids = ["-n", "clusterset-proxy", "get", "pods", "-o", "jsonpath={.items[*].metadata.uid}"];
  try {
    await reader.follow("Install");
    await paste(clusters, `${web(SERVICE)}\n${exported(SERVICE)}`);
    const node = clusters.cluster(CLUSTER).node("node-1");
    await eventually(async () =>
      assert.match(await ownRules(node), /helm\/web\S* local cluster-1/),
    );
    const before = await clusters.kubectl(CLUSTER, uids);
    await reader.follow("Upgrade");
    assert.equal(await clusters.kubectl(CLUSTER, uids), before);
    await reader.follow("Uninstall");
  } finally {
    rmSync(VALUES, { force: true });
  }
  assert.deepEqual(reader.left, []);
  const left = await tracesIn(clusters, CLUSTER);
  for (const line of left) assert.match(line, LEFT);
  assert.ok(left.some((line) => line.includes("helm/web")));
});

const IMPORT = ["-n", "shop", "get", "serviceimport", "web", "-o", "json"];

/** Commands: the Service `web` of the namespace shop, of both families, with a Deployment. */
function dualStack(context: string, deployment: string): string {
  return `kubectl --context ${context} -n shop create deployment ${deployment} --image=lab.local/probe:1
kubectl --context ${context} -n shop expose deployment ${deployment} --name=web --port=80 --target-port=8080
kubectl --context ${context} -n shop patch service web -p '{"spec":{"ipFamilyPolicy":"PreferDualStack"}}'
kubectl --context ${context} -n shop rollout status --timeout=120s deployment/${deployment}`;
}

/** The same Service in c1. */
const SECOND = `
${dualStack("c1", "second")}
${exported({ cluster: "c1", namespace: "shop", name: "web" })}
until [ "$(kubectl --context c2 -n shop get endpointslices -o name -l multicluster.kubernetes.io/source-cluster=c1)" ]; do sleep 0.2; done
`;

const TRY = `
for cluster in c1 c2; do
  kubectl --context $cluster -n clusterset-proxy rollout status --timeout=180s daemonset/clusterset-agent
  kubectl --context $cluster -n clusterset-proxy rollout status --timeout=180s deployment/clusterset-controller
  kubectl --context $cluster create namespace shop
done
${dualStack("c2", "web")}
kubectl --context c1 -n shop run client --image=lab.local/probe:1
kubectl --context c1 -n shop wait --for=condition=Ready --timeout=60s pod/client
${exported({ cluster: "c2", namespace: "shop", name: "web" })}
address() { kubectl --context c1 -n shop get serviceimport web -o "jsonpath={.spec.ips[$1]}"; }
ask() { kubectl --context c1 -n shop exec client -- node /app/request/request.ts "$1"; }
until [ -n "$(address 1)" ]; do sleep 0.2; done
until ask "http://$(address 0)"; do sleep 0.2; done
until ask "http://[$(address 1)]"; do sleep 0.2; done
`;
