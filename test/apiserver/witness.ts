import { setTimeout as sleep } from "node:timers/promises";
import { LABEL_SOURCE_CLUSTER } from "../../api/keys.ts";
import type { ApiClient, ApiObject, ApiReference } from "./api-client.ts";
import { IMPORT, SLICE, type StagedCluster } from "./staged-cluster.ts";

const ENDED = "the watch";
const RECORD = "clusterset-proxy.io/record";
const MANAGED = "endpointslice.kubernetes.io/managed-by=clusterset-controller";

/**
 * Watches all that a cluster's controller writes of imports, slices and records, and reports each loss: an object, a VIP, or the address of an
 * endpoint.
 */
export class Witness implements AsyncDisposable {
  readonly #client: ApiClient;
  readonly #cluster: string;
  readonly #ended: readonly Promise<void>[];
  /** By kind and name: the contents that each object must keep. */
  readonly #had = new Map<string, readonly string[]>();
  readonly #lost: string[] = [];
  #isOver = false;
  #writes = 0;

  /** From now on, until it is disposed of. */
  constructor({ id, plane }: StagedCluster) {
    this.#cluster = id;
    this.#client = plane.client("admin");
    this.#ended = [this.#follow(IMPORT), this.#follow(SLICE, { labelSelector: MANAGED })];
  }

  /** All losses until now, which it then forgets. */
  taken(): string[] {
    return this.#lost.splice(0);
  }

  /** Imports whose VIP has changed, and watches that have ended: faults, whatever users do meanwhile. */
  get faults(): readonly string[] {
    const faults = [`MODIFIED ${IMPORT.kind} `, ENDED];
    return this.#lost.filter((loss) => faults.some((fault) => loss.startsWith(fault)));
  }

  /** Resolves once so many more writes were seen, or after `patience` milliseconds. */
  async writesMore(count: number, patience: number): Promise<void> {
    const [end, until] = [this.#writes + count, performance.now() + patience];
    while (this.#writes < end && performance.now() < until) await sleep(1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A watch that waits for its next event ends with its connection.
    this.#isOver = true;
    await this.#client.close();
    await Promise.all(this.#ended);
  }

  /** An API server ends a watch whose events it cannot send soon enough, for example because the machine is busy: the next one continues it. */
  async #follow(kind: ApiReference, query: Readonly<Record<string, string>> = {}): Promise<void> {
    let from: Readonly<Record<string, string>> = {};
    try {
      while (!this.#isOver) {
        for await (const { type, object } of this.#client.watch(kind, { ...query, ...from })) {
          if (type === "ERROR") throw new Error(JSON.stringify(object));
          this.#see(type, object);
          from = { resourceVersion: object.metadata.resourceVersion };
          this.#writes++;
        }
      }
    } catch (error) {
      // Without the watch, an empty list of losses would prove nothing.
      if (!this.#isOver)
        this.#lost.push(`${ENDED} of ${this.#cluster} has ended: ${String(error)}`);
    }
  }

  #see(type: string, object: ApiObject): void {
    const { name, namespace = "" } = object.metadata;
    const labels = (object.metadata.labels ?? {}) as Readonly<Record<string, string>>;
    // Not the records of registries, and not a Service's own slices, which have no source cluster.
    if (labels[RECORD] !== undefined) return;
    if (object.kind === SLICE.kind && labels[LABEL_SOURCE_CLUSTER] === undefined) return;
    const key = `${object.kind} ${namespace}/${name}`;
    const has = type === "DELETED" ? [] : contentsOf(object);
    const gone = (this.#had.get(key) ?? []).filter((one) => !has.includes(one));
    this.#had.set(key, has);
    if (type !== "DELETED" && gone.length === 0) return;
    this.#lost.push(`${type} ${key} in ${this.#cluster}: ${gone.join()}`);
  }
}

function contentsOf({ spec, endpoints }: ApiObject): string[] {
  const { ips = [] } = (spec ?? {}) as { readonly ips?: readonly string[] };
  const all = (endpoints ?? []) as readonly { readonly addresses: readonly string[] }[];
  return [...ips, ...all.flatMap(({ addresses }) => addresses)];
}
