import type { Clock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer } from "../../common/kubernetes/api-server.ts";

/** A request to an API server, and its result. */
export interface AskedOf {
  readonly verb: "apply" | "create" | "delete" | "list" | "replace" | "watch" | "get";
  /** An HTTP status, or an error's reason. */
  readonly result: string;
  readonly seconds: number;
}

const WRITES = { PATCH: "apply", POST: "create", DELETE: "delete", PUT: "replace" } as const;

/** The API server, with its requests counted by `asked`. */
export function countedApiServer(
  server: ApiServer,
  clock: Pick<Clock, "now">,
  asked: (asked: AskedOf) => void,
): ApiServer {
  const request = async (what: ApiRequest): Promise<ApiResponse> => {
    const began = clock.now();
    const report = (result: string): void =>
      asked({ verb: verbOf(what), result, seconds: (clock.now() - began) / 1000 });
    try {
      const response = await server.request(what);
      report(String(response.status));
      return response;
    } catch (thrown) {
      // A request that the caller has cancelled has no result.
      if (!what.signal.aborted) report(thrown instanceof ApiFault ? thrown.reason : "unforeseen");
      throw thrown;
    }
  };
  return {
    // It changes with the credentials.
    get address() {
      return server.address;
    },
    recovery: server.recovery,
    get expiries() {
      return server.expiries ?? [];
    },
    request,
    close: () => server.close(),
  };
}

function verbOf({ path, write }: ApiRequest): AskedOf["verb"] {
  if (write !== undefined) return WRITES[write.method];
  const query = new URLSearchParams(path.split("?", 2)[1]);
  if (query.get("watch") === "true") return "watch";
  return query.has("limit") ? "list" : "get";
}
