import type { Family } from "../../../api/address.ts";
import { execLines } from "../../system/exec.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import { DummyDevice } from "../../system/link/dummy-device.ts";
import type { NftProcess } from "../../system/nft-process.ts";
import { writeSetting } from "../../system/setting.ts";
import { DEVICE } from "./read.ts";
import type { Setting } from "./settings.ts";
import type { Step } from "./transaction.ts";

/**
 * Makes the steps of a transaction, one after the other. Rejects as `NftProcess.run`, `IpvsTable.run`, `DummyDevice` and
 * `writeSetting` do; the steps before it are made then, and of that one what the kernel did not refuse.
 */
export async function runSteps(
  family: Family,
  steps: readonly Step[],
  nftProcess: NftProcess,
): Promise<void> {
  const device = new DummyDevice(DEVICE);
  const table = new IpvsTable();
  for (const step of steps) {
    if (step.kind === "nft") await nftProcess.run(step.text);
    else if (step.kind === "ipvs") await table.run(step.commands);
    else if (step.kind === "settings") await setSettings(step.settings);
    else if (step.kind === "add-vips") await device.add(family, step.vips);
    else await device.delete(family, step.vips);
  }
}

async function setSettings(settings: readonly Setting[]): Promise<void> {
  for (const { name, value } of settings) await writeSetting(name, value);
}

/** Runs one transaction of nftables in a process of its own. Rejects as `execLines` does: nothing of it is made then. */
export function nft(input: string): Promise<void> {
  return execLines(["nft", "-f", "-"], () => undefined, { input });
}
