import { setTimeout as sleep } from "node:timers/promises";
import { manifest } from "../generators/objects.ts";
import type { ApiClient, ApiObject } from "./api-client.ts";

/** Milliseconds between two rounds of a kubelet. A real one renews its Lease every ten seconds. */
const ROUND_MS = 300;
/** Seconds that a node's Lease is good for (kubelet's nodeLeaseDurationSeconds). */
const LEASE_SECONDS = 40;

interface Condition {
  readonly type: string;
  readonly status: string;
}

interface Pod {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/**
 * The kubelets of a cluster and its scheduler, as an API server sees them, without any container: nodes say that they
 * live, pods get a node and an address, say that they are ready, and are gone soon after somebody deletes them.
 *
 *     const kubelets = new Kubelets(plane.admin, ["n1", "n2"]);
 *     kubelets.start();
 *     await kubelets.silence(); // None of them reaches the API server; their pods continue.
 *
 * What fails is tried again with the next round, as kubelets do it.
 */
export class Kubelets {
  readonly #api: ApiClient;
  readonly #nodes: readonly string[];
  /** Addresses of pods by their uids. */
  readonly #addresses = new Map<string, string>();
  #bound = 0;
  #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(api: ApiClient, nodes: readonly string[]) {
    this.#api = api;
    this.#nodes = nodes;
  }

  /** Begins, or continues. */
  start(): void {
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    const rounds = this.#nodes.map((node) => () => this.#round(node));
    this.#running = Promise.all(
      [() => this.#schedule(), ...rounds].map((one) => repeat(one, signal)),
    );
  }

  /** Once this returns, none of them sends requests. */
  async silence(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #round(node: string): Promise<void> {
    await this.#beat(node);
    const fieldSelector = `spec.nodeName=${node}`;
    const pods = await this.#api.list({ apiVersion: "v1", kind: "Pod" }, { fieldSelector });
    for (const pod of pods.map(podOf)) {
      if (pod.metadata.deletionTimestamp === undefined) await this.#report(pod);
      else await this.#end(pod);
    }
  }

  /** Both heartbeats: the Lease, and the status. */
  async #beat(name: string): Promise<void> {
    const now = new Date().toISOString();
    const node = manifest("Node", name);
    await this.#api.apply(node);
    const lease = { leaseDurationSeconds: LEASE_SECONDS, renewTime: now.replace("Z", "000Z") };
    const spec = { holderIdentity: name, ...lease };
    await this.#api.apply({ ...manifest("Lease", `kube-node-lease/${name}`), spec });
    const ready = { type: "Ready", status: "True", reason: "KubeletReady", lastHeartbeatTime: now };
    await this.#api.patch(node, { status: { conditions: [ready] } }, "status");
  }

  /** Reports that a pod runs and is ready, unless it is reported. */
  async #report(pod: Pod): Promise<void> {
    const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
    if (ready?.status === "True") return;
    const ip = this.#addressOf(pod);
    const conditions = [{ type: "Ready", status: "True" }];
    const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions };
    await this.#api.patch({ apiVersion: "v1", kind: "Pod", ...pod }, { status }, "status");
  }

  /** Its containers have ended. */
  async #end({ metadata: { namespace, name } }: Pod): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    await this.#api.request("DELETE", path, { query: { gracePeriodSeconds: "0" } });
  }

  /** Gives pods that have no node one after the other. */
  async #schedule(): Promise<void> {
    const pods = { apiVersion: "v1", kind: "Pod" };
    const waiting = await this.#api.list(pods, { fieldSelector: "spec.nodeName=" });
    for (const { namespace, name } of waiting.map((pod) => podOf(pod).metadata)) {
      const target = { kind: "Node", name: this.#nodes[this.#bound++ % this.#nodes.length] };
      const body = { apiVersion: "v1", kind: "Binding", metadata: { name }, target };
      const path = `/api/v1/namespaces/${namespace}/pods/${name}/binding`;
      await this.#api.request("POST", path, { body });
    }
  }

  #addressOf({ metadata: { uid } }: Pod): string {
    const address = this.#addresses.get(uid) ?? `10.1.0.${this.#addresses.size + 1}`;
    this.#addresses.set(uid, address);
    return address;
  }
}

async function repeat(round: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // The API server does not respond, or an object has changed meanwhile: the next round tries again.
    await round().catch(() => undefined);
    // An end in between throws, and is what the loop looks at next.
    await sleep(ROUND_MS, undefined, { signal }).catch(() => undefined);
  }
}

function podOf(object: ApiObject): Pod {
  return object as unknown as Pod;
}
