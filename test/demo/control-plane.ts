import { PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { agentRights } from "../apiserver/agent-rights.ts";
import { ControlPlane } from "../apiserver/control-plane.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Publication, ScenarioObject } from "./scenario.ts";
import { HOME } from "./world.ts";

const AGENT = "agent";

/** Who the agent is, which it reads there: no flag says it. */
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
  readonly flags: readonly string[];
  readonly #plane: ControlPlane;

  private constructor(plane: ControlPlane) {
    this.#plane = plane;
    this.flags = [`--kubeconfig=${plane.kubeconfig({ user: AGENT })}`];
  }

  /** Starts it on a node, with all that is not in the scenario. */
  static async start(namespace: Namespace): Promise<PublishingControlPlane> {
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
    return new PublishingControlPlane(plane);
  }

  async write(...objects: readonly ScenarioObject[]): Promise<void> {
    await Promise.all(objects.map((object) => this.#plane.admin.apply(object)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#plane.remove();
  }
}
