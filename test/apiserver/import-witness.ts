import type { ApiClient, ApiObject, ApiReference } from "./api-client.ts";
import { IMPORT, SLICE, type StagedCluster } from "./staged-cluster.ts";

/** What is a record of a registry, and no import. */
const RECORD = "clusterset-proxy.io/record";

/** Sees everything that is written of imports, slices and records in a cluster, as it happens. */
export class ImportWitness implements AsyncDisposable {
  readonly #client: ApiClient;
  readonly #cluster: string;
  /** VIPs by uid of the import. */
  readonly #vips = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  readonly #deleted: string[] = [];
  readonly #faults: string[] = [];
  #ended = false;
  #writes = 0;

  /** From now on, until it is disposed of. */
  constructor({ id, plane }: StagedCluster) {
    this.#cluster = id;
    this.#client = plane.client("admin");
    void this.#watch(IMPORT, {});
    void this.#watch(SLICE, {
      labelSelector: "endpointslice.kubernetes.io/managed-by=clusterset-controller",
    });
  }

  /** How often anything was written. */
  get writes(): number {
    return this.#writes;
  }

  /** VIPs that have changed while their import lived, and watches that have ended. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  /** Imports and imported slices that were deleted, as `ServiceImport namespace/name`. */
  get deleted(): readonly string[] {
    return this.#deleted;
  }

  /** Settles once so many more writes were seen, or after `patience` ms. */
  async writesMore(count: number, patience: number): Promise<void> {
    const end = this.#writes + count;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => this.#writes >= end && resolve();
    const timer = setTimeout(resolve, patience);
    this.#listeners.add(look);
    look();
    await promise;
    clearTimeout(timer);
    this.#listeners.delete(look);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    await this.#client.close();
  }

  async #watch(kind: ApiReference, query: Readonly<Record<string, string>>): Promise<void> {
    try {
      for await (const { type, object } of this.#client.watch(kind, query)) {
        if (!JSON.stringify(object.metadata.labels ?? {}).includes(RECORD)) this.#see(type, object);
        this.#writes++;
        for (const listener of this.#listeners) listener();
      }
      throw new Error("it was ended");
    } catch (error) {
      if (!this.#ended)
        this.#faults.push(`${this.#cluster}: watch of ${kind.kind}: ${String(error)}`);
    }
  }

  #see(type: string, { kind, metadata, spec }: ApiObject): void {
    const { namespace, name } = metadata;
    const uid = String(metadata.uid);
    if (type === "DELETED") this.#deleted.push(`${kind} ${namespace}/${name}`);
    const vips = ((spec as { readonly ips?: readonly string[] } | undefined)?.ips ?? []).join();
    const before = this.#vips.get(uid) ?? "";
    if (before !== "" && before !== vips) {
      const now = vips || "none";
      this.#faults.push(`${this.#cluster}: ${namespace}/${name} had ${before}, and has ${now}`);
    }
    this.#vips.set(uid, vips);
  }
}
