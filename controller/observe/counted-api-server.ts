import type { Clock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer } from "../../common/kubernetes/api-server.ts";
import type { Recovery } from "../../common/kubernetes/recovery.ts";

/** What was asked of an API server, and what became of it. */
export interface AskedOf {
  readonly verb: "apply" | "create" | "delete" | "list" | "replace" | "watch" | "get";
  /** An HTTP status, or a reason. */
  readonly result: string;
  readonly seconds: number;
}

const WRITES = { PATCH: "apply", POST: "create", DELETE: "delete", PUT: "replace" } as const;

/** An API server whose requests are counted. */
export class CountedApiServer implements ApiServer {
  readonly #server: ApiServer;
  readonly #clock: Pick<Clock, "now">;
  readonly #asked: (asked: AskedOf) => void;

  constructor(server: ApiServer, clock: Pick<Clock, "now">, asked: (asked: AskedOf) => void) {
    this.#server = server;
    this.#clock = clock;
    this.#asked = asked;
  }

  get recovery(): Recovery {
    return this.#server.recovery;
  }

  get address(): string {
    return this.#server.address;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const began = this.#clock.now();
    const tell = (result: string): void => {
      const seconds = (this.#clock.now() - began) / 1000;
      this.#asked({ verb: verbOf(request), result, seconds });
    };
    try {
      const response = await this.#server.request(request);
      tell(String(response.status));
      return response;
    } catch (thrown) {
      // Who gave up has asked for it: no answer of the server's.
      if (!request.signal.aborted) tell(thrown instanceof ApiFault ? thrown.reason : "unforeseen");
      throw thrown;
    }
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

function verbOf({ path, write }: ApiRequest): AskedOf["verb"] {
  if (write !== undefined) return WRITES[write.method];
  const query = new URLSearchParams(path.split("?", 2)[1]);
  if (query.get("watch") === "true") return "watch";
  return query.has("limit") ? "list" : "get";
}
