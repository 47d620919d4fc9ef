import type { Family } from "../../../api/address.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import type { NftProcess } from "../../system/nft-process.ts";
import { execLines } from "../../system/run-program.ts";
import { writeSysctl } from "../../system/sysctl.ts";
import type { Step } from "./commands.ts";
import { vipDevice } from "./read.ts";

/**
 * Runs the steps of a transaction in order. Rejects as `NftProcess.run`, `IpvsTable.run`, `DummyDevice` and `writeSysctl` do; the
 * steps before are then live, and the failed one may be in part.
 */
export async function runSteps(
  family: Family,
  steps: readonly Step[],
  nftProcess: Pick<NftProcess, "run">,
): Promise<void> {
  const table = new IpvsTable();
  for (const step of steps) {
    if (step.kind === "nft") await nftProcess.run(step.text);
    else if (step.kind === "ipvs") await table.run(step.commands);
    else if (step.kind === "settings") {
      for (const { name, value } of step.settings) await writeSysctl(name, value);
    } else if (step.kind === "add-vips") await vipDevice.add(family, step.vips);
    else await vipDevice.delete(family, step.vips);
  }
}

/** Runs one nftables transaction in a process of its own. Rejects as `execLines` does; nothing is changed then. */
export function nft(input: string): Promise<void> {
  return execLines(["nft", "-f", "-"], () => undefined, { input });
}
