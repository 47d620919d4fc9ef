import type { ApiClient, ApiReference } from "../../test/apiserver/api-client.ts";
import { IMPORT, SLICE } from "../../test/apiserver/controller-stage.ts";
import { now } from "../../test/connections/connections.ts";
import { NAMESPACE } from "../shape.ts";

/** Imports with a VIP and imported slices of a cluster, as received by a watch. */
export class Arrivals implements AsyncDisposable {
  readonly #client: ApiClient;
  readonly #imports = new Set<string>();
  readonly #slices = new Set<string>();
  readonly #watching: Promise<unknown>;
  #awaited:
    | { readonly imports: number; readonly slices: number; done: (at: number) => void }
    | undefined;
  #stopped = false;

  /** Begins. `client` is for this alone, and ends with it. */
  constructor(client: ApiClient) {
    this.#client = client;
    this.#watching = Promise.all([
      this.#watch(IMPORT, this.#imports, "", ({ ips }) => (ips?.length ?? 0) > 0),
      this.#watch(SLICE, this.#slices, "multicluster.kubernetes.io/service-name", () => true),
    ]).catch((error: unknown) => {
      if (!this.#stopped) throw error;
    });
    // The error is reported only to a caller that waits for arrivals.
    this.#watching.catch(() => undefined);
  }

  /** Waits until there are so many; gives when that was, on the clock of attempts. Throws after so many milliseconds. */
  async until(imports: number, slices: number, patience: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#awaited = { imports, slices, done: resolve };
    const late = () => {
      const found = `${this.#imports.size} imports and ${this.#slices.size} slices`;
      reject(new Error(`${found}, not ${imports} and ${slices}, within ${patience} ms`));
    };
    const timer = setTimeout(late, patience);
    this.#watching.catch(reject);
    this.#look();
    return promise.finally(() => clearTimeout(timer));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    await this.#client.close();
    await this.#watching;
  }

  #look(): void {
    const { imports, slices, done } = this.#awaited ?? {};
    if (imports === undefined || slices === undefined) return;
    if (this.#imports.size >= imports && this.#slices.size >= slices) done?.(now());
  }

  async #watch(
    kind: ApiReference,
    names: Set<string>,
    labelSelector: string,
    counts: (spec: { readonly ips?: readonly string[] }) => boolean,
  ): Promise<void> {
    const query = labelSelector === "" ? {} : { labelSelector };
    const objects = { ...kind, metadata: { namespace: NAMESPACE } };
    // An API server ends the watch of a slow reader. The next one begins with all objects.
    while (!this.#stopped) {
      names.clear();
      for await (const { type, object } of this.#client.watch(objects, query)) {
        const { name } = object.metadata;
        if (type !== "DELETED" && counts(object.spec ?? {})) names.add(name);
        else names.delete(name);
        this.#look();
      }
    }
  }
}
