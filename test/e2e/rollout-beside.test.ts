import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ClusterNode } from "../cluster/cluster-node.ts";
import { Clusters } from "../cluster/clusters.ts";
import { eventually } from "../stages/agent-process.ts";
import { deniedIn } from "./denied.ts";
import { functionOf } from "./guide.ts";
import { productImages } from "./images.ts";
import { Kustomization } from "./kustomization.ts";
import { paste } from "./reader.ts";
import { Storm } from "./storm.ts";
import { exported, web } from "./web.ts";

// Nodes that others have rules on: kube-proxy in nftables mode, and an administrator who has written to iptables-legacy by hand.
// Installing and uninstalling leaves both as they are, to the byte. The tests are one story, in order.

const CLUSTER = "cluster-1";
const WEB = { cluster: CLUSTER, namespace: "demo", name: "web" };
const PATIENCE_MS = 60_000;

/** What an administrator may have, in any table that we write to, too. */
const BY_HAND = `*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:ADMIN - [0:0]
-A INPUT -p tcp -m tcp --dport 9 -j ADMIN
-A FORWARD -p udp -m udp --dport 9 -j ADMIN
-A ADMIN -m comment --comment "nobody discards here" -j DROP
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -p tcp -m tcp --dport 2222 -j REDIRECT --to-ports 22
-A POSTROUTING -p tcp -m tcp --dport 9 -j MASQUERADE
COMMIT
`;

/** What kubelets write, so that others find the flavour that the node's own programs use (KEP-3178). */
const HINT = "*mangle\n:KUBE-IPTABLES-HINT - [0:0]\n:KUBE-KUBELET-CANARY - [0:0]\nCOMMIT\n";

/** Rules of a node, as text, by the program that wrote them. */
interface Written {
  /** The tables of kube-proxy. */
  readonly kubeProxy: string;
  readonly legacy: string;
  readonly nft: string;
}

describe("beside kube-proxy in nftables mode and rules of iptables-legacy", () => {
  const applied = new Kustomization("mesh", ["net-raw"]);
  let clusters: Clusters;
  let storm: Storm;
  let untouched: Map<string, Written>;
  before(async () => {
    clusters = await Clusters.create({
      nodes: 2,
      proxies: ["nftables"],
      images: await productImages(),
    });
    for (const { host } of nodes()) {
      await host.exec(["iptables-legacy-restore"], { stdin: BY_HAND });
      await host.exec(["ip6tables-legacy-restore"], { stdin: BY_HAND });
    }
    await node("node-2").host.exec(["iptables-nft-restore", "--noflush"], { stdin: HINT });
    await paste(clusters, web({ ...WEB, replicas: 2 }));
    const address = ["-n", "demo", "get", "service", "web", "-o", "jsonpath={.spec.clusterIP}"];
    const clusterIp = await clusters.kubectl(CLUSTER, address);
    storm = await Storm.start({ clusters }, callers("clusterip", clusterIp));
    // kube-proxy's rules are final once they contain both servers and DNS.
    untouched = await eventually(async () => {
      const written = await writtenOnNodes();
      for (const { kubeProxy } of written.values()) {
        assert.match(kubeProxy, /web\/tcp\/http \{[^}]* mod 2 /);
        assert.match(kubeProxy, /service-\w+-kube-system\/kube-dns\/tcp\/metrics/);
      }
      return written;
    }, PATIENCE_MS);
  });
  after(async () => {
    applied[Symbol.dispose]();
    await clusters?.remove();
  });

  test("without NET_RAW, the agent beside legacy rules writes none, is not ready, and logs what to add", async () => {
    await paste(clusters, APPLY);
    const { name } = node("node-1");
    const pods = `-n clusterset-proxy get pods -l app.kubernetes.io/name=clusterset-agent --field-selector=spec.nodeName=${name}`;
    const pod = `kubectl --context ${CLUSTER} ${pods} -o jsonpath={.items[0].metadata.name}`;
    const ready = "-o jsonpath={.items[0].status.containerStatuses[0].ready}";
    await eventually(async () => {
      const logs = `kubectl --context ${CLUSTER} -n clusterset-proxy logs $(${pod})`;
      assert.match(await paste(clusters, logs), /CSP_CAPABILITY_MISSING.*components\/net-raw/);
    }, PATIENCE_MS);
    assert.equal(await paste(clusters, `kubectl --context ${CLUSTER} ${pods} ${ready}`), "false");
    assert.deepEqual((await writtenOnNodes()).get(name), untouched.get(name));
  });

  test("with the component net-raw, agents write rules beside other programs, and ClusterIPs continue to work", async () => {
    await storm.survives(async () => {
      await paste(
        clusters,
        `kubectl --context ${CLUSTER} apply -k ${applied.folder}\n${WITH_IMPORT}`,
      );
    });
    // Manually, to legacy only; beside a kubelet that uses nft.
    const chosen = [...(await writtenOnNodes())].map(([name, { legacy, nft }]) => [
      name,
      ...[legacy, nft].map((text) => text.includes("CSP-")),
    ]);
    assert.deepEqual(chosen, [
      [node("node-1").name, true, false],
      [node("node-2").name, false, true],
    ]);
    for (const [name, { kubeProxy, legacy }] of await writtenOnNodes()) {
      assert.equal(kubeProxy, untouched.get(name)?.kubeProxy);
      assert.equal(withoutOurs(legacy), untouched.get(name)?.legacy);
    }
  });

  test("pods of both nodes get responses from a ClusterSetIP", async () => {
    const vip = ["-n", "demo", "get", "serviceimport", "web", "-o", "jsonpath={.spec.ips[0]}"];
    const calls = callers("clustersetip", await clusters.kubectl(CLUSTER, vip));
    const own = await Storm.start({ clusters }, calls);
    await own.goesOn();
    await own.end();
    // Later, programs under removal send requests without their rights.
    assert.deepEqual(deniedIn(clusters.cluster(CLUSTER).plane.auditFile), []);
  });

  test("after uninstalling, the rules of other programs are unchanged, and there are no others", async () => {
    await storm.survives(async () => {
      await paste(clusters, UNINSTALL);
    });
    await storm.end();
    assert.deepEqual(await writtenOnNodes(), untouched);
  });

  function node(place: string): ClusterNode {
    return clusters.cluster(CLUSTER).node(place);
  }

  function nodes(): readonly ClusterNode[] {
    return clusters.cluster(CLUSTER).nodes;
  }

  /** A pod on each node that calls an address. */
  function callers(name: string, address: string) {
    return nodes().map(({ name: on }) => ({
      ...{ cluster: CLUSTER, namespace: "demo", node: on },
      ...{ name: `${name}-${on}`, target: `http://${address}` },
    }));
  }

  async function writtenOnNodes(): Promise<Map<string, Written>> {
    const pairs = nodes().map(async (one): Promise<[string, Written]> => {
      const [kubeProxy, legacy, nft] = await Promise.all([
        // -s: without counters.
        said(one, "nft -s list table ip kube-proxy; nft -s list table ip6 kube-proxy"),
        said(one, `iptables-legacy-save; ip6tables-legacy-save`),
        said(one, `iptables-nft-save; ip6tables-nft-save`),
      ]);
      return [one.name, { kubeProxy, legacy: bare(legacy), nft: bare(nft) }];
    });
    return new Map(await Promise.all(pairs));
  }
});

function said({ host }: ClusterNode, command: string): Promise<string> {
  return host.exec(["sh", "-e", "-c", command]);
}

/**
 * Without the time, which is a comment, and how many packets came by. A table of the kernel's own chains only, all empty, is none: the
 * first rule makes it, and iptables never takes it away.
 */
function bare(saved: string): string {
  const lines = saved.replaceAll(/^#.*\n/gm, "").replaceAll(/ \[\d+:\d+\]$/gm, "");
  return lines.replaceAll(/^\*\w+\n(:\w+ ACCEPT\n)*COMMIT\n/gm, "");
}

function withoutOurs(saved: string): string {
  return saved.replaceAll(/^.*CSP-.*\n/gm, "");
}

/** Without names, as that has CoreDNS started anew, which kube-proxy writes down. */
const APPLY = `deploy/crds/install ${CLUSTER}
kubectl --context ${CLUSTER} apply -k deploy/overlays/mesh
sed "s/CLUSTER_ID/${CLUSTER}/g" deploy/rbac/mesh/registry.yaml | kubectl --context ${CLUSTER} apply -f -
${functionOf("install.md", "identity")}
identity ${CLUSTER} eu-west`;

const WITH_IMPORT = `kubectl --context ${CLUSTER} -n clusterset-proxy rollout status --timeout=180s daemonset/clusterset-agent
kubectl --context ${CLUSTER} -n clusterset-proxy rollout status --timeout=180s deployment/clusterset-controller
${exported(WEB)}
until kubectl --context ${CLUSTER} -n demo wait --for=condition=Ready --timeout=60s serviceimport/web; do sleep 0.2; done`;

const UNINSTALL = `kubectl --context ${CLUSTER} delete -k deploy/overlays/mesh
kubectl --context ${CLUSTER} delete -f deploy/crds
kubectl --context ${CLUSTER} delete namespace clusterset-registry-${CLUSTER}
kubectl --context ${CLUSTER} delete endpointslices -A -l endpointslice.kubernetes.io/managed-by=clusterset-controller
kubectl --context ${CLUSTER} apply -k deploy/cleanup
kubectl --context ${CLUSTER} -n clusterset-cleanup rollout status --timeout=120s daemonset/clusterset-cleanup
kubectl --context ${CLUSTER} delete -k deploy/cleanup`;
