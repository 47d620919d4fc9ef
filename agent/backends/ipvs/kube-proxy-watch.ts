import type { Cancel, Clock } from "../../../common/clock.ts";
import type { BackendConfig } from "../backend-kind.ts";
import { type KubeProxyReport, kubeProxyObjection } from "./kube-proxy.ts";

/** Milliseconds between two checks. */
const INTERVAL = 15_000;

/**
 * Watches for a kube-proxy that deletes our virtual servers: it may start after the agent, or with another configuration. Two
 * checks in a row must agree, because one of its pages may fail once. A kube-proxy that does not respond does not count. Calls
 * `objected` once, with why we must not write to IPVS beside it; the watch then ends.
 */
export function watchKubeProxy(
  {
    clusterSetCidrs,
    kubeProxyExcludeCidrs,
  }: Pick<BackendConfig, "clusterSetCidrs" | "kubeProxyExcludeCidrs">,
  read: () => Promise<KubeProxyReport>,
  clock: Clock,
  objected: (objection: string) => void,
): Cancel {
  let suspected = false;
  let stopped = false;
  const check = async () => {
    const report = await read();
    if (stopped) return;
    const objection =
      report.mode === undefined
        ? undefined
        : kubeProxyObjection(report, clusterSetCidrs, kubeProxyExcludeCidrs);
    if (objection !== undefined && suspected) return objected(objection);
    suspected = objection !== undefined;
    cancel = clock.after(INTERVAL, () => void check());
  };
  let cancel = clock.after(INTERVAL, () => void check());
  return () => {
    stopped = true;
    cancel();
  };
}
