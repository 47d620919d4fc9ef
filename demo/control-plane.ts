import { PROPERTY_CLUSTER_ID } from "../api/keys.ts";
import { ControlPlane } from "../test/apiserver/control-plane.ts";
import { agentRights } from "../test/apiserver/rights.ts";
import type { Namespace } from "../test/lab/namespace.ts";
import { GRACE, type Publication, type Scenario } from "./scenario.ts";
import { HOME, VIP } from "./world.ts";

const AGENT = "agent";

/** The agent's identity, which it reads there, not from a flag. */
const IDENTITY = [
  {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: HOME.node, labels: { "topology.kubernetes.io/region": HOME.region } },
    spec: { podCIDRs: HOME.podCidrs },
  },
  {
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name: PROPERTY_CLUSTER_ID },
    spec: { value: HOME.cluster },
  },
];

/** A real API server, which the agent may list and watch. */
export class PublishingControlPlane implements Publication {
  readonly objects: { readonly kubeconfig: string };
  readonly flags = [];
  readonly #plane: ControlPlane;
  readonly ruleMark = "shop/web:http";
  readonly grace = GRACE;
  readonly #scenario: Scenario;

  private constructor(plane: ControlPlane, scenario: Scenario) {
    this.#plane = plane;
    this.#scenario = scenario;
    this.objects = { kubeconfig: plane.kubeconfig({ user: AGENT }) };
  }

  /** Starts it on a node, with all that is not in the scenario. */
  static async start(namespace: Namespace, scenario: Scenario): Promise<PublishingControlPlane> {
    const plane = await ControlPlane.start({ namespace, users: [AGENT] });
    try {
      await plane.installCrds();
      const shop = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
      for (const object of [shop, ...agentRights(AGENT), ...IDENTITY])
        await plane.admin.apply(object);
    } catch (error) {
      await plane.remove();
      throw error;
    }
    return new PublishingControlPlane(plane, scenario);
  }

  async publish(): Promise<{ vip: string }> {
    await Promise.all(this.#scenario.objects.map((object) => this.#plane.admin.apply(object)));
    return { vip: VIP };
  }

  async scale(cluster: string, up: boolean): Promise<void> {
    await this.#plane.admin.apply(this.#scenario.slice(cluster, up));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#plane.remove();
  }
}
