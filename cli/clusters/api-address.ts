import { ApiFault, faultOfTransport } from "../../common/kubernetes/api-fault.ts";
import { connect } from "../../common/kubernetes/connect.ts";
import { createLogger } from "../../common/log.ts";
import { kubeconfigOf } from "../install/handovers.ts";
import type { Cluster } from "./cluster.ts";

/** Milliseconds for one attempt. */
const REACH_MS = 10_000;

/**
 * Why an API server cannot be reached from this machine at an address, with this CA; undefined if it answers, whatever the answer is.
 * Sends no credentials.
 */
export async function whyUnreachable(
  server: string,
  ca: string | undefined,
): Promise<string | undefined> {
  // A user without a token is not complete; the server rejects this one.
  const text = kubeconfigOf({ server, token: "none", ...(ca !== undefined && { ca }) });
  const log = createLogger({ level: "error", format: "json" }, { write: () => undefined });
  const api = await connect({ kubeconfig: { text, from: server }, log });
  try {
    const signal = AbortSignal.timeout(REACH_MS);
    await api.request({ path: "/version", signal, silence: REACH_MS });
    return undefined;
  } catch (thrown) {
    const fault = thrown instanceof ApiFault ? thrown : faultOfTransport(thrown);
    return fault.message;
  } finally {
    await api.close();
  }
}

/**
 * The CA for an address of an API server: the kubeconfig's belongs to the kubeconfig's address. For others it is that which the cluster
 * gives its pods, which a cluster without `--root-ca-file` does not.
 */
export async function trustedFor(
  from: Cluster,
  server: string,
  ofPods: string | undefined,
): Promise<string | undefined> {
  const own = await from.authority();
  if (server === from.address && own.isVerified) return own.ca;
  return ofPods ?? own.ca;
}
