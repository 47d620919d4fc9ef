import { ANNOTATION_CLUSTER_IP_FAILOVER, FAILOVER_MANAGER, LABEL_MANAGED_BY } from "../api/keys.ts";
import { type ControllerStage, IMPORT, SLICE } from "../test/apiserver/controller-stage.ts";
import { KubeProxy } from "../test/coexistence/kube-proxy.ts";
import { now } from "../test/connections/connections.ts";
import type { Lab } from "../test/lab/lab.ts";
import { Controllers, startControllers } from "./controllers.ts";
import { ms } from "./duration.ts";
import { CLUSTERS, HOME } from "./world.ts";

const METADATA = { namespace: "shop", name: "web" };
const SERVICE = { apiVersion: "v1", kind: "Service", metadata: METADATA };

/**
 * In place of an agent, a real kube-proxy on the client's node. The client connects to the ClusterIP of its own cluster's Service, which
 * asks for failover.
 */
export class SameName extends Controllers {
  readonly program: KubeProxy;
  override readonly ruleMark = "shop/web:http -> ";
  // Changes go through two controllers, and kube-proxy waits up to a second between two passes; a kubelet gives pods 30 s.
  override readonly grace = 2_000;

  private constructor(lab: Lab, stage: ControllerStage, say: (line: string) => void) {
    super(stage, say);
    const node = lab.node(HOME.cluster, HOME.node);
    const kubeconfig = this.stage.cluster(HOME.cluster).plane.kubeconfig({ user: "admin" });
    this.program = new KubeProxy(lab, node, "iptables-nft", HOME.node, kubeconfig);
  }

  static override async start(lab: Lab, say: (line: string) => void): Promise<SameName> {
    const stage = await startControllers(lab, say);
    const address = lab.node(HOME.cluster, HOME.node).address();
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: HOME.node } };
    const status = { addresses: [{ type: "InternalIP", address }] };
    await stage.cluster(HOME.cluster).plane.admin.patch(node, { status }, "status");
    say("and a real kube-proxy on the client's node; no agent runs");
    return new SameName(lab, stage, say);
  }

  /** All clusters export, and the Service at home asks for failover. Gives its ClusterIP. */
  override async publish(): Promise<{ vip: string }> {
    const { admin } = this.stage.cluster(HOME.cluster).plane;
    const selector = { labelSelector: `${LABEL_MANAGED_BY}=${FAILOVER_MANAGER}` };
    const sliced = this.seen(SLICE, selector, ({ metadata }) => metadata.name);
    const imported = this.seen(IMPORT, {}, ({ status }) => {
      const { clusters = [] } = (status ?? {}) as { clusters?: unknown[] };
      return clusters.length === CLUSTERS.length || undefined;
    });
    for (const { id } of CLUSTERS) await this.export(id);
    await imported;
    const annotations = { [ANNOTATION_CLUSTER_IP_FAILOVER]: "true" };
    const { spec } = await admin.patch(SERVICE, { metadata: { annotations } });
    const since = now();
    this.say(
      `all export shop/web; in ${HOME.cluster}, its Service is annotated: cluster-ip-failover`,
    );
    const { at, found } = await sliced;
    this.say(`  ${HOME.cluster} has EndpointSlice ${found} after ${ms(at - since)}`);
    return { vip: String((spec as { clusterIP?: string }).clusterIP) };
  }
}
