import { field, fieldAt, textField } from "../../api/parse/fields.ts";
import { PODS, queryOf } from "../../common/kubernetes/kinds.ts";
import { INSTALL_NAMESPACE } from "../install-namespace.ts";
import type { Cluster } from "./cluster.ts";
import { until } from "./until.ts";

/** Port of the controllers' pages (deploy/base/controller.yaml). */
const PAGES_PORT = 10_270;

/**
 * Waits until a controller of the cluster has listed the registries of all these members and uses them: the answer to whether its pods
 * reach the other API servers. Rejects with an ApiFault that says which it does not.
 */
export function untilControllersSee(
  on: Cluster,
  ids: readonly string[],
  within: number,
  signal: AbortSignal,
): Promise<void> {
  return until(within, signal, async () => {
    const page = await debugPage(on);
    const missing = ids.flatMap((id) => missingOf(page, id));
    if (missing.length === 0) return { found: undefined };
    return { missing: `${on.context}: its controller does not see ${missing.join("; ")}` };
  });
}

async function debugPage(on: Cluster): Promise<unknown> {
  const labelSelector = "app.kubernetes.io/name=clusterset-controller";
  const pods = await on.list(queryOf(PODS, { namespace: INSTALL_NAMESPACE, labelSelector }));
  const pod = pods.find((one) => isReady(one));
  const name = textField(field(pod, "metadata"), "name");
  if (name === undefined) return undefined;
  const { text } = await on.page(
    { namespace: INSTALL_NAMESPACE, pod: name, port: PAGES_PORT },
    "/debug",
  );
  return JSON.parse(text) as unknown;
}

function isReady(pod: unknown): boolean {
  const conditions = fieldAt(pod, "status", "conditions");
  return (
    Array.isArray(conditions) &&
    conditions.some((one) => field(one, "type") === "Ready" && field(one, "status") === "True")
  );
}

function missingOf(page: unknown, id: string): string[] {
  const clusters = field(page, "clusters");
  if (!Array.isArray(clusters)) return [`${id} (no controller is ready)`];
  const found = clusters.find((one) => field(one, "cluster") === id);
  if (found === undefined) return [`${id} (it is no peer yet)`];
  const isUsed = field(found, "listed") === true && field(found, "verdict") === "member";
  if (isUsed && field(found, "state") === "alive") return [];
  const words = ["state", "because", "verdict"].flatMap((key) => textField(found, key) ?? []);
  const watches = Object.values(field(found, "connections") ?? {}).filter(
    (one) => one !== "watching",
  );
  return [`${id} (${[...words, ...new Set(watches.map(String))].join(", ")})`];
}
