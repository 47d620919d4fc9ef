import { systemClock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { ApiServer } from "./api-server.ts";
import { Credentials } from "./credentials.ts";
import type { KubeconfigOrigin } from "./kubeconfig.ts";

export type { InlineKubeconfig } from "./inline-kubeconfig.ts";

/** Options of `connect`. */
export interface ConnectOptions {
  /** Default: the service account of the pod. */
  readonly kubeconfig?: Exclude<KubeconfigOrigin, undefined>;
  readonly log: Logger;
  /** User agent, as shown in the API server's audit log. */
  readonly userAgent?: string;
}

/** The API server of a kubeconfig. Connects with the first request. Throws CSP_KUBECONFIG. */
export async function connect(options: ConnectOptions): Promise<ApiServer> {
  const { kubeconfig, log, userAgent = "clusterset-proxy" } = options;
  const credentials = await Credentials.load({ kubeconfig, log, clock: systemClock });
  const { HttpApiServer } = await import("./http-api-server.ts");
  return new HttpApiServer(credentials, userAgent, systemClock);
}
