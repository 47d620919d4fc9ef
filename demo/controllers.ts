import { ANNOTATION_DRAIN, PROPERTY_REGION } from "../api/keys.ts";
import type { ApiObject, ApiReference } from "../test/apiserver/api-client.ts";
import {
  ControllerStage,
  IMPORT,
  OWN_NAMESPACE,
  SLICE,
} from "../test/apiserver/controller-stage.ts";
import { agentRights } from "../test/apiserver/rights.ts";
import { now } from "../test/connections/connections.ts";
import type { Lab } from "../test/lab/lab.ts";
import { ms } from "./duration.ts";
import { GRACE, type Publication } from "./scenario.ts";
import { CLUSTERS, CONTROL_PLANE, HOME } from "./world.ts";

const AGENT = "agent";
const SERVICE = "shop/web";
/** The cluster that loses its power: without it, viewers would wait for a minute. */
const KILLED = "c2";
/** Who exports before all others. */
const FIRST = "c2";

/** Starts the API servers and controllers, and creates the Service in each cluster. Calls `say` with each step. */
export async function startControllers(
  lab: Lab,
  say: (line: string) => void,
): Promise<ControllerStage> {
  say("starting an etcd, a kube-apiserver and a clusterset-controller in each of three clusters");
  const began = now();
  const stage = await ControllerStage.open({
    clusters: CLUSTERS.map(({ id }) => id),
    users: [AGENT],
    shortLeases: [KILLED],
    nodeOf: (id) => lab.node(id, CONTROL_PLANE),
  });
  try {
    for (const { id, region } of CLUSTERS) {
      await stage.cluster(id).plane.admin.apply({
        apiVersion: "about.k8s.io/v1beta1",
        kind: "ClusterProperty",
        metadata: { name: PROPERTY_REGION },
        spec: { value: region },
      });
      await stage.cluster(id).serve(SERVICE, addressesOf(id));
    }
    const { admin } = stage.cluster(HOME.cluster).plane;
    const labels = { "topology.kubernetes.io/region": HOME.region };
    const node = {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: HOME.node, labels },
      spec: { podCIDRs: HOME.podCidrs },
    };
    for (const object of [...agentRights(AGENT), node]) await admin.apply(object);
    await stage.start();
  } catch (error) {
    await stage[Symbol.asyncDispose]();
    throw error;
  }
  say(`  they run after ${((now() - began) / 1_000).toFixed(1)} s; each has a Service ${SERVICE}`);
  return stage;
}

/**
 * In each cluster a real API server with its own Service and slice, and the real controller, in a mesh. What the agent
 * reads, the controllers have made.
 */
export class Controllers implements Publication {
  readonly objects: { readonly kubeconfig: string };
  readonly flags = [];
  readonly ruleMark: string = "shop/web:http";
  readonly grace: number = GRACE;
  protected readonly stage: ControllerStage;
  protected readonly say: (line: string) => void;

  protected constructor(stage: ControllerStage, say: (line: string) => void) {
    this.stage = stage;
    this.say = say;
    const { plane } = stage.cluster(HOME.cluster);
    this.objects = { kubeconfig: plane.kubeconfig({ user: AGENT }) };
  }

  static async start(lab: Lab, say: (line: string) => void): Promise<Controllers> {
    return new Controllers(await startControllers(lab, say), say);
  }

  /** The first cluster exports. Gives the VIP, and when the export was acknowledged. */
  async publish(): Promise<{ vip: string; since?: number }> {
    const imported = this.seen(IMPORT, {}, (one) => {
      const { ips = [] } = one.spec as { ips?: string[] };
      return ips[0];
    });
    const selector = { labelSelector: "multicluster.kubernetes.io/service-name=web" };
    const sliced = this.seen(SLICE, selector, ({ endpoints }) =>
      Array.isArray(endpoints) && endpoints.length > 0 ? true : undefined,
    );
    await this.export(FIRST);
    const since = now();
    this.say(`${FIRST} exports ${SERVICE}: a ServiceExport is created there, and acknowledged`);
    const vip = await imported;
    const [first, second] = [vip.at - since, (await sliced).at - since];
    this.say(`  ${HOME.cluster} has the ServiceImport with VIP ${vip.found} after ${ms(first)}`);
    this.say(`  ${HOME.cluster} has the EndpointSlice of ${FIRST} after ${ms(second)}`);
    return { vip: vip.found, since };
  }

  async scale(cluster: string, up: boolean): Promise<void> {
    await this.stage.cluster(cluster).endpoints(SERVICE, up ? addressesOf(cluster) : []);
  }

  async export(cluster: string): Promise<void> {
    await this.stage.cluster(cluster).export(SERVICE);
  }

  /** The client's cluster takes another one out of rotation, or back. */
  async drain(id: string, out: boolean): Promise<void> {
    const { admin } = this.stage.cluster(HOME.cluster).plane;
    const metadata = { namespace: OWN_NAMESPACE, name: `peer-${id}` };
    const text = `from=${new Date().toISOString()}; for=1h; by=demo; reason=kernel upgrade`;
    await admin.patch(
      { apiVersion: "v1", kind: "Secret", metadata },
      { metadata: { annotations: { [ANNOTATION_DRAIN]: out ? text : null } } },
    );
  }

  /** API server and controller die without a word. */
  async kill(id: string): Promise<void> {
    const cluster = this.stage.cluster(id);
    await Promise.all([cluster.plane.kill(), cluster.kill()]);
  }

  /** Its controller is killed; its API server continues. */
  async killController(id: string): Promise<void> {
    await this.stage.cluster(id).kill();
  }

  /** They start again, with what the API server knew. */
  async boot(id: string): Promise<void> {
    const cluster = this.stage.cluster(id);
    await cluster.plane.start();
    await cluster.launch();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stage[Symbol.asyncDispose]();
  }

  /** The first value other than undefined of an object at home, and when it was received. */
  protected async seen<T>(
    kind: ApiReference,
    query: Readonly<Record<string, string>>,
    look: (object: ApiObject) => T | undefined,
  ): Promise<{ found: T; at: number }> {
    const { admin } = this.stage.cluster(HOME.cluster).plane;
    const reference = { ...kind, metadata: { namespace: "shop" } };
    for await (const { object } of admin.watch(reference, query)) {
      const found = look(object);
      if (found !== undefined) return { found, at: now() };
    }
    throw new Error(`${HOME.cluster} has ended a watch`);
  }
}

/** The servers of a cluster that get connections. */
function addressesOf(id: string): string[] {
  const pods = CLUSTERS.find((cluster) => cluster.id === id)?.pods ?? [];
  return pods.filter(({ spare }) => !spare).map(({ address }) => address);
}
