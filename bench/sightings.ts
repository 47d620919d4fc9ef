import type { ApiClient, ApiReference } from "../test/apiserver/api-client.ts";
import { now } from "../test/connections/connections.ts";

/** When a watch of one object receives its changes: the minimum for any watch. */
export class Sightings {
  readonly #admin: ApiClient;
  readonly #reference: ApiReference;
  #watching: Promise<void> | undefined;
  #stopped = false;
  #latest: number | undefined;

  constructor(admin: ApiClient, object: object) {
    this.#admin = admin;
    this.#reference = object as ApiReference;
  }

  start(): void {
    this.#watching = this.#watch().catch((error: unknown) => {
      if (!this.#stopped) throw error;
    });
  }

  /** The time of the latest change received, on the clock of attempts; undefined: none since the last call. */
  take(): number | undefined {
    const latest = this.#latest;
    this.#latest = undefined;
    return latest;
  }

  /** Forgets; the connection ends with the client. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#admin.close();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    const { apiVersion, kind, metadata = {} } = this.#reference;
    const { namespace = "", name = "" } = metadata;
    const query = { fieldSelector: `metadata.name=${name}` };
    for await (const { type } of this.#admin.watch(
      { apiVersion, kind, metadata: { namespace } },
      query,
    ))
      if (type === "MODIFIED") this.#latest = now();
  }
}
