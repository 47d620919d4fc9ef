import { systemClock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { ApiServer } from "./api-server.ts";
import { Credentials } from "./credentials.ts";
import type { InlineKubeconfig } from "./kubeconfig.ts";

export type { InlineKubeconfig } from "./kubeconfig.ts";

/** What `connect` needs to know. */
export interface ConnectOptions {
  /** The path of a kubeconfig file, or one as text; without it, the service account of the pod. */
  readonly kubeconfig?: string | InlineKubeconfig;
  readonly log: Logger;
  /** Who asks, as the API server's audit log shows it. */
  readonly userAgent?: string;
}

/**
 * The API server that a kubeconfig's current context names. Connects with the first request. What it takes to
 * speak to one costs memory, and is loaded only here. Throws CSP_KUBECONFIG.
 */
export async function connect(options: ConnectOptions): Promise<ApiServer> {
  const { kubeconfig, log, userAgent = "clusterset-proxy" } = options;
  const credentials = await Credentials.load({ kubeconfig, log, clock: systemClock });
  const { HttpApiServer } = await import("./http-api-server.ts");
  return new HttpApiServer(credentials, userAgent, systemClock);
}
