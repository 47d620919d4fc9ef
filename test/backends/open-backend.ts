import { type BackendConfig, isUnsupported } from "../../agent/backends/backend-kind.ts";
import type { AnyDataplane } from "../../agent/backends/dataplane.ts";
import { KINDS } from "../../agent/backends/kinds.ts";
import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { logLines } from "../doubles/log-lines.ts";
import { backendConfig } from "../generators/facts.ts";
import type { TestedBackend } from "./tested-backend.ts";

/** Prepares the network namespace of this process, and opens the dataplane of one family with these ranges. Throws if it lacks anything. */
export async function openDataplane(
  { name, config }: TestedBackend,
  family: Family,
  clusterSetCidrs: readonly Cidr[],
  change: Partial<BackendConfig> = {},
): Promise<AnyDataplane> {
  const all = { ...backendConfig("241.0.0.0/8", "fd00:241::/108"), ...config, ...change };
  const { signal } = new AbortController();
  const ready = await KINDS[name].prepare(all, logLines().log, signal);
  if (ready === undefined || isUnsupported(ready)) throw new Error(JSON.stringify(ready?.lacks));
  const options = { keep: [], othersInPlace: () => false, onRespawn: () => undefined };
  return ready.open(family, clusterSetCidrs, options).dataplane;
}

/** Removes all objects of ours from the network namespace of this process, as `cleanup` does; returns their number. */
export async function removeAll({ name }: TestedBackend, ...ranges: Cidr[]): Promise<number> {
  const options = { ranges, keep: [], inUse: "none", stop: undefined } as const;
  let removed = 0;
  for (const leftover of KINDS[name].leftovers(options)) removed += await leftover.remove();
  return removed;
}
