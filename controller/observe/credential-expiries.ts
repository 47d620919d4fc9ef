import type { Gauge } from "prom-client";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import type { Server } from "./metrics.ts";

/** Whose API server it is. `member`: the cluster of a peer, else empty. */
interface Whose {
  readonly server: Server;
  readonly member: string;
}

/** When the credentials for each API server expire. */
export class CredentialExpiries {
  readonly #gauge: Gauge<"server" | "member" | "credential">;
  readonly #servers = new Map<ApiServer, Whose>();

  constructor(gauge: Gauge<"server" | "member" | "credential">) {
    this.#gauge = gauge;
  }

  /** The API server, reported until it is closed. */
  watched(api: ApiServer, whose: Whose): ApiServer {
    const close = async (): Promise<void> => {
      this.#servers.delete(api);
      await api.close();
    };
    this.#servers.set(api, whose);
    return {
      get address() {
        return api.address;
      },
      recovery: api.recovery,
      request: (what) => api.request(what),
      close,
    };
  }

  /** Sets the gauge: the earliest end, if a member has two connections while its credentials are replaced. */
  report(): void {
    this.#gauge.reset();
    const ends = new Map<string, number>();
    for (const [{ expiries = [] }, { server, member }] of this.#servers) {
      for (const { credential, at } of expiries) {
        const key = `${server} ${member} ${credential}`;
        const end = Math.min(at, ends.get(key) ?? at);
        ends.set(key, end);
        this.#gauge.set({ server, member, credential }, end);
      }
    }
  }
}
