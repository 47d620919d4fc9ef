import assert from "node:assert/strict";
import type { ApiClient } from "../../apiserver/api-client.ts";
import type { CaseCluster } from "../../apiserver/service-case.ts";
import { PROBE_IMAGE } from "../../cluster/images.ts";
import { eventually } from "../../stages/agent-process.ts";
import type { Clusterset } from "../clusterset.ts";
import { Client, type DnsAnswer } from "../walk-through/client.ts";

/** Longer than a pod takes to start on a machine that does other things, too. */
const PATIENCE_MS = 180_000;

const NAMESPACE = "asking";
const POD = { apiVersion: "v1", kind: "Pod", metadata: { namespace: NAMESPACE, name: "client" } };

/** A real cluster with a client pod, which resolves names, and connects to servers that respond with their names. */
export class AskingCluster implements CaseCluster {
  readonly id: string;
  readonly plane: { readonly admin: ApiClient };
  readonly #set: Clusterset;
  readonly #client: Client;

  private constructor(set: Clusterset, id: string) {
    this.id = id;
    this.#set = set;
    this.#client = new Client(set.clusters, id, NAMESPACE);
    this.plane = set.clusters.cluster(id).plane;
  }

  /** Returns when the pod runs. */
  static async start(set: Clusterset, id: string): Promise<AskingCluster> {
    const cluster = new AskingCluster(set, id);
    const { admin } = cluster.plane;
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
    await admin.apply({ ...POD, spec: { containers: [{ name: "client", image: PROBE_IMAGE }] } });
    await eventually(async () => {
      const { status } = await admin.get(POD);
      assert.equal((status as { phase?: string }).phase, "Running");
    }, PATIENCE_MS);
    return cluster;
  }

  /** What the controllers have logged. */
  get log(): Promise<string> {
    const pods = ["logs", "-l", "app.kubernetes.io/name=clusterset-controller", "--tail=-1"];
    return this.#set.clusters.kubectl(this.id, ["-n", "clusterset-proxy", ...pods]);
  }

  /** What the cluster's DNS server answers the pod, in the questions' order. */
  resolve(...questions: readonly string[]): Promise<DnsAnswer[]> {
    return this.#client.resolve(...questions);
  }

  /** The records that these questions are answered with, in their order; throws if one has none. */
  async records(...questions: readonly string[]): Promise<(readonly string[])[]> {
    return (await this.resolve(...questions)).map((answer) => {
      assert.ok(answer.records, `${this.id}: ${JSON.stringify(answer)}`);
      return answer.records;
    });
  }

  /**
   * Who answers the pod at `tcp://` or `udp://`, a host and a port: so many connections, one after the other. What was not
   * answered is in it as a word of images/request, such as `refused`.
   */
  async answers(target: string, count: number): Promise<string[]> {
    const calls = await this.#client.calls(target, count);
    return calls.map(({ name, error }) => name ?? error ?? "nobody");
  }
}
