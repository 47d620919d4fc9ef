import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { ClusterFault } from "../clusters/cluster-fault.ts";
import type { Unread } from "../view/readings.ts";

/** Why a read failed, as commands show it. */
export function unreadOf(thrown: unknown): Unread {
  if (thrown instanceof ClusterFault) return { reason: thrown.reason, detail: thrown.detail };
  if (thrown instanceof ApiFault) return { reason: thrown.reason, detail: thrown.message };
  return { reason: "garbage", detail: thrown instanceof Error ? thrown.message : String(thrown) };
}
