import { field, textField } from "../../api/parse/fields.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { until } from "../clusters/until.ts";
import { debugPage, podsOf } from "./pods.ts";

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
    const pod = (await podsOf(on, "controller")).find(({ ready }) => ready);
    const page = pod && (await debugPage(on, pod));
    const missing = ids.flatMap((id) => missingOf(page, id));
    if (missing.length === 0) return { found: undefined };
    return { missing: `${on.context}: its controller does not see ${missing.join("; ")}` };
  });
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
