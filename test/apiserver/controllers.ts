import type { Process } from "../lab/process.ts";
import type { ApiClient } from "./api-client.ts";
import { kubernetesCommand } from "./commands.ts";
import type { Place } from "./place.ts";
import { untilReady } from "./readiness.ts";

export interface ControllerManagerOptions {
  readonly place: Place;
  /** The path of a kubeconfig of somebody who may do everything. */
  readonly kubeconfig: string;
  /** The key that service account tokens are signed with. */
  readonly key: string;
  readonly client: ApiClient;
}

/**
 * Starts a kube-controller-manager. Returns when its controllers work: one of them makes a service account in each
 * namespace. Of one that comes back, that says nothing: it works some seconds later.
 */
export async function startControllerManager(options: ControllerManagerOptions): Promise<Process> {
  const { place, kubeconfig, key, client } = options;
  const flags = {
    kubeconfig,
    "leader-elect": false,
    controllers: "*,-nodeipam",
    "service-account-private-key-file": key,
    // Several of them share the loopback.
    "secure-port": 0,
  };
  const manager = place.spawn([
    kubernetesCommand("kube-controller-manager"),
    ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
  ]);
  await untilReady(manager, "kube-controller-manager", async () => {
    const path = "/api/v1/namespaces/default/serviceaccounts/default";
    return (await client.request("GET", path)).status === 200;
  });
  return manager;
}
