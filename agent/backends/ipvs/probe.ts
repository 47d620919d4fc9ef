import type { Family } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import type { Scheduler } from "../../../api/keys.ts";
import type { Protocol } from "../../../api/protocol.ts";
import { CodedError, codeOf } from "../../../common/errors.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import { execLines } from "../../system/run-program.ts";
import { noSets, renderTables } from "./nft-tables.ts";
import { MARK } from "./vip.ts";

/** Addresses for documentation (RFC 5737, RFC 3849). */
const UNASSIGNED = { IPv4: "c0000201", IPv6: `20010db8${"0".repeat(23)}1` } as const;
/** The port of `discard` (RFC 863). */
const PORT = 9;

/** Tests whether the kernel accepts our rules, without changes: before 5.10 it rejects some. Rejects as `execLines` does. */
export async function probeTables(
  family: Family,
  clusterSetCidrs: readonly Cidr[],
  stop?: AbortSignal,
): Promise<void> {
  const masquerade = { mode: "all", podCidrs: [] } as const;
  const input = renderTables({ family, clusterSetCidrs, masquerade }, noSets());
  await execLines(["nft", "-c", "-f", "-"], () => undefined, { input, stop });
}

/** Tests whether the kernel has the scheduler, or can load it. Rejects as `probeServer` does. */
export async function probeScheduler(family: Family, scheduler: Scheduler): Promise<void> {
  try {
    await probeServer(family, "TCP", scheduler);
  } catch (error) {
    if (codeOf(error) !== "CSP_IPVS_REFUSED") throw error;
    const why = `IPVS: ${family}: the kernel has no scheduler ${scheduler}: load it on the host: modprobe ip_vs_${scheduler}`;
    throw new CodedError("CSP_IPVS_REFUSED", why, { cause: error });
  }
}

/**
 * Adds a virtual server on an unassigned address, and deletes it. Rejects as `IpvsTable.run` does, with CSP_IPVS_REFUSED if the
 * kernel does not support such a server.
 */
export async function probeServer(
  family: Family,
  protocol: Protocol,
  scheduler: Scheduler,
): Promise<void> {
  const name = { family, protocol, address: UNASSIGNED[family], port: PORT };
  const table = new IpvsTable();
  const remove = () => table.run([{ kind: "delete-server", server: name }]);
  // An agent that was killed during this test left one behind.
  await remove();
  const server = { ...name, scheduler, flags: MARK, timeout: 0 };
  await table.run([{ kind: "new-server", server }]);
  await remove();
}
