import { addressFromHex, type Family } from "../../../api/address.ts";
import { isCidr, parseCidr } from "../../../api/cidr.ts";
import type { Scheduler } from "../../../api/scheduler.ts";
import { CodedError, codeOf } from "../../../common/errors.ts";
import { execLines } from "../../system/exec.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import { MARK, nothing } from "./state.ts";
import { renderTables } from "./tables.ts";

/** An address that nobody has and nobody connects to (RFC 5737, RFC 3849). */
const NOBODY = { IPv4: "c0000201", IPv6: `20010db8${"0".repeat(23)}1` } as const;
/** The port of `discard` (RFC 863). */
const PORT = 9;

/**
 * Finds out whether the kernel takes our rules, and changes nothing: below Linux 5.10 it refuses to write ports of SCTP, for
 * one. A table is taken as a whole or not at all, so an agent that found it out later could write nothing. Rejects as
 * `execLines` does.
 */
export async function tryTables(family: Family, stop?: AbortSignal): Promise<void> {
  const range = parseCidr(`${addressFromHex(NOBODY[family]).text}/${family === "IPv4" ? 32 : 128}`);
  if (!isCidr(range)) throw new Error(range);
  const masquerade = { mode: "all", podCidrs: [] } as const;
  const input = renderTables({ family, clusterSetCidr: range, masquerade }, nothing().sets);
  await execLines(["nft", "-c", "-f", "-"], () => undefined, { input, stop });
}

/**
 * Finds out whether the kernel has the scheduler, or can load it: makes a virtual server that nobody connects to, and
 * removes it. Without, each service would be refused by itself, until the node has none. Rejects as `IpvsTable.run` does.
 */
export async function tryScheduler(family: Family, scheduler: Scheduler): Promise<void> {
  const name = { family, protocol: "TCP", address: NOBODY[family], port: PORT } as const;
  const table = new IpvsTable();
  const remove = () => table.run([{ kind: "delete-server", server: name }]);
  // That of an agent which was killed in between.
  await remove();
  const server = { ...name, scheduler, flags: MARK, timeout: 0 };
  try {
    await table.run([{ kind: "new-server", server }]);
  } catch (error) {
    if (codeOf(error) !== "CSP_IPVS_REFUSED") throw error;
    const why = `IPVS: ${family}: the kernel has no scheduler ${scheduler}: load it on the host: modprobe ip_vs_${scheduler}`;
    throw new CodedError("CSP_IPVS_REFUSED", why, { cause: error });
  }
  await remove();
}
