import type { ApiClient } from "../../test/apiserver/api-client.ts";
import { SLICE } from "../../test/apiserver/controller-stage.ts";
import { now } from "../../test/connections/connections.ts";
import { eventually } from "../../test/stages/agent-process.ts";

/** When a separate watch receives addresses in slices. */
export class SliceWatch implements AsyncDisposable {
  readonly #client: ApiClient;
  readonly #seen = new Map<string, number>();
  readonly #watching: Promise<void>;
  #stopped = false;

  /** Begins. `client` is for this alone, and ends with it. */
  constructor(client: ApiClient, namespace: string, labelSelector: string) {
    this.#client = client;
    this.#watching = this.#watch(namespace, labelSelector).catch((error: unknown) => {
      if (!this.#stopped) throw error;
    });
    // The error is reported to a caller that waits for an address, or else at the end.
    this.#watching.catch(() => undefined);
  }

  /** Forgets all addresses that were seen. */
  forget(): void {
    this.#seen.clear();
  }

  /** When an address was first seen since everything was forgotten, on the clock of attempts. Waits for it. */
  async seen(address: string): Promise<number> {
    return eventually(() => {
      const at = this.#seen.get(address);
      if (at === undefined) throw new Error(`${address} is in no slice`);
      return at;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    await this.#client.close();
    await this.#watching;
  }

  async #watch(namespace: string, labelSelector: string): Promise<void> {
    const slices = { ...SLICE, metadata: { namespace } };
    // An API server ends every watch some time.
    while (!this.#stopped) {
      for await (const { object } of this.#client.watch(slices, { labelSelector })) {
        const at = now();
        for (const address of addressesIn(object.endpoints)) {
          if (!this.#seen.has(address)) this.#seen.set(address, at);
        }
      }
    }
  }
}

function addressesIn(endpoints: unknown): string[] {
  const list = (endpoints ?? []) as readonly { readonly addresses: readonly string[] }[];
  return list.flatMap(({ addresses }) => addresses);
}
