import { fieldAt } from "../../api/parse/fields.ts";
import { CONFIG_MAPS, DEPLOYMENTS } from "../../common/kubernetes/kinds.ts";
import type { ApiObject } from "../../common/kubernetes/writer.ts";
import { COREFILE_BLOCK } from "../install/manifests.ts";
import type { Cluster } from "./cluster.ts";
import { untilRolledOut } from "./rollout.ts";

const CONFIG = { namespace: "kube-system", name: "coredns" };
/** Milliseconds for CoreDNS's pods to be ready with another Corefile. */
const ROLLOUT_MS = 120_000;

/** The action on the Corefile of a cluster. */
export interface NamesPlan {
  readonly action: "changed" | "unchanged" | "kept";
  readonly live?: ApiObject;
  readonly before: string;
  readonly after: string;
}

/** Whether the Corefile of `kube-system/coredns` gets our block, or loses it; `kept` if there is none. Rejects with an ApiFault. */
export async function planNames(on: Cluster, verb: "add" | "remove"): Promise<NamesPlan> {
  const live = await on.objects.get(CONFIG_MAPS, CONFIG);
  const before = fieldAt(live?.object, "data", "Corefile");
  if (live === undefined || typeof before !== "string") {
    return { action: verb === "add" ? "kept" : "unchanged", before: "", after: "" };
  }
  const after = verb === "add" ? withNames(before) : withoutNames(before);
  return { action: after === before ? "unchanged" : "changed", live, before, after };
}

/**
 * Writes the Corefile and restarts CoreDNS. If it does not become ready, the Corefile is restored, because a pod that starts later
 * would fail, and with it all DNS of the cluster. Rejects with an ApiFault.
 */
export async function applyNames(
  on: Cluster,
  { action, live, before, after }: NamesPlan,
  timeOfDay: number,
  signal: AbortSignal,
): Promise<void> {
  if (action !== "changed" || live === undefined) return;
  const written = await on.objects.patch(
    CONFIG_MAPS,
    CONFIG,
    { data: { Corefile: after } },
    live.meta,
  );
  try {
    await restart(on, timeOfDay, signal);
  } catch (thrown) {
    await on.objects.patch(CONFIG_MAPS, CONFIG, { data: { Corefile: before } }, written.meta);
    throw thrown;
  }
}

/** As `kubectl rollout restart`. */
async function restart(on: Cluster, timeOfDay: number, signal: AbortSignal): Promise<void> {
  const deployment = await on.objects.get(DEPLOYMENTS, CONFIG);
  if (deployment === undefined) return;
  const annotations = { "kubectl.kubernetes.io/restartedAt": new Date(timeOfDay).toISOString() };
  const spec = { template: { metadata: { annotations } } };
  await on.objects.patch(DEPLOYMENTS, CONFIG, { spec }, deployment.meta);
  await untilRolledOut(on, { kind: "Deployment", ...CONFIG }, ROLLOUT_MS, signal);
}

const BLOCK = /^# clusterset-proxy: begin\n[\s\S]*?^# clusterset-proxy: end\n?/gm;

/** A Corefile with our block at its end, as `deploy/coredns/names add` leaves it. PURE. */
export function withNames(corefile: string): string {
  return `${withoutNames(corefile).trimEnd()}\n${COREFILE_BLOCK}\n`;
}

/** A Corefile without our block. PURE. */
export function withoutNames(corefile: string): string {
  return corefile.replaceAll(BLOCK, "");
}
