import { LABEL_SOURCE_CLUSTER } from "../../api/keys.ts";
import type { ApiClient, ApiObject } from "./api-client.ts";
import { IMPORT, SLICE, type StagedCluster } from "./controller-stage.ts";

/** Losses of a cluster's imports and failover slices, as reported by its API server: objects, VIPs, addresses of endpoints. */
export class Losses implements AsyncDisposable {
  readonly #client: ApiClient;
  readonly #ended: readonly Promise<void>[];
  #isOver = false;
  /** By kind and name: what each object must keep. */
  readonly #had = new Map<string, readonly string[]>();
  readonly #lost: string[] = [];

  /** From now on. */
  constructor({ plane }: StagedCluster) {
    this.#client = plane.client("admin");
    this.#ended = [IMPORT, SLICE].map((kind) => this.#follow(this.#client.watch(kind)));
  }

  /** All that was lost until now; forgets it. */
  taken(): string[] {
    return this.#lost.splice(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A watch that waits for its next event ends with its connection.
    this.#isOver = true;
    await this.#client.close();
    await Promise.all(this.#ended);
  }

  async #follow(watch: ReturnType<ApiClient["watch"]>): Promise<void> {
    try {
      for await (const { type, object } of watch) this.#see(type, object);
      throw new Error("it has ended");
    } catch (error) {
      // Who does not hear what is lost must not say that nothing was.
      if (!this.#isOver) this.#lost.push(`the watch: ${String(error)}`);
    }
  }

  #see(type: string, object: ApiObject): void {
    const { name, namespace = "" } = object.metadata;
    const labels = (object.metadata.labels ?? {}) as Readonly<Record<string, string>>;
    // Neither records of registries nor a Service's own slices, which have no source cluster.
    if (labels["clusterset-proxy.io/record"] !== undefined) return;
    if (object.kind === SLICE.kind && labels[LABEL_SOURCE_CLUSTER] === undefined) return;
    const key = `${object.kind} ${namespace}/${name}`;
    const has = type === "DELETED" ? [] : contentsOf(object);
    const gone = (this.#had.get(key) ?? []).filter((one) => !has.includes(one));
    this.#had.set(key, has);
    if (type === "DELETED" || gone.length > 0) this.#lost.push(`${type} ${key} ${gone.join()}`);
  }
}

function contentsOf({ spec, endpoints }: ApiObject): string[] {
  const { ips = [] } = (spec ?? {}) as { readonly ips?: readonly string[] };
  const all = (endpoints ?? []) as readonly { readonly addresses: readonly string[] }[];
  return [...ips, ...all.flatMap(({ addresses }) => addresses)];
}
