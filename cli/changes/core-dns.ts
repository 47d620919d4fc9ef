import { fieldAt } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { CONFIG_MAPS, DEPLOYMENTS } from "../../common/kubernetes/kinds.ts";
import type { ApiObject } from "../../common/kubernetes/writer.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type NamesVerb, objectOf } from "../install/change.ts";
import { hasOtherBlock, withForward, withNames, withoutNames } from "../install/dns.ts";
import { OWN_DNS } from "../install/workloads.ts";
import { type Action, addressOfService } from "./objects.ts";
import { untilRolledOut } from "./waits.ts";

const CONFIG = { namespace: "kube-system", name: "coredns" };
/** The ConfigMap with the Corefile. */
export const NAMES_OBJECT = objectOf("ConfigMap", CONFIG.name, CONFIG.namespace);
/** What restarts with it. */
export const NAMES_WORKLOAD = {
  ...objectOf("Deployment", CONFIG.name, CONFIG.namespace),
  apiVersion: "apps/v1",
};
/** Milliseconds for CoreDNS's pods to be ready with another Corefile. */
const ROLLOUT_MS = 120_000;
/** Conflicts after which a Corefile is not restored. */
const RESTORATIONS = 5;

/** The action on the Corefile of a cluster. */
interface NamesPlan {
  readonly action: Action;
  readonly detail?: string;
  readonly live?: ApiObject;
  readonly before: string;
  readonly after: string;
}

/**
 * Whether the Corefile of `kube-system/coredns` gets a block of ours, or loses it; `kept` if there is no Corefile, or another block for the
 * zone in it. Rejects with an ApiFault.
 */
export async function planNames(on: Cluster, verb: NamesVerb): Promise<NamesPlan> {
  const live = await on.objects.get(CONFIG_MAPS, CONFIG);
  const before = fieldAt(live?.object, "data", "Corefile");
  if (live === undefined || typeof before !== "string") {
    const none = { before: "", after: "" };
    if (verb === "remove") return { action: "not found", ...none };
    const detail = "no CoreDNS there: add the block of deploy/coredns/names to your DNS server";
    return { action: "kept", detail, ...none };
  }
  if (verb !== "remove" && hasOtherBlock(before)) {
    const detail = `another block serves clusterset.local: take it out, then deploy/coredns/names ${verb}`;
    return { action: "kept", detail, before, after: before };
  }
  const after = await changedCorefile(on, before, verb);
  const same = verb === "remove" ? "not found" : "unchanged";
  const action = after === before ? same : "changed";
  return { action, detail: "a block for clusterset.local", live, before, after };
}

async function changedCorefile(on: Cluster, before: string, verb: NamesVerb): Promise<string> {
  switch (verb) {
    case "add":
      return withNames(before);
    case "remove":
      return withoutNames(before);
    case "forward":
      // Before a join there is no Service, and no block with its address.
      return withForward(before, (await addressOfService(on, OWN_DNS)) ?? "");
  }
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
    await restore(on, { before, after }, written);
    throw thrown;
  }
}

/** Takes the change back, also if something else has written to the ConfigMap meanwhile. */
async function restore(
  on: Cluster,
  { before, after }: Pick<NamesPlan, "before" | "after">,
  written: ApiObject,
): Promise<void> {
  let live: ApiObject | undefined = written;
  for (let left = RESTORATIONS; live !== undefined; left--) {
    const text: unknown = fieldAt(live.object, "data", "Corefile");
    const Corefile = text === after || typeof text !== "string" ? before : withoutNames(text);
    try {
      await on.objects.patch(CONFIG_MAPS, CONFIG, { data: { Corefile } }, live.meta);
      return;
    } catch (thrown) {
      const isLate = thrown instanceof ApiFault && thrown.reason === "write-conflict";
      if (!isLate || left === 0) throw thrown;
    }
    live = await on.objects.get(CONFIG_MAPS, CONFIG);
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
