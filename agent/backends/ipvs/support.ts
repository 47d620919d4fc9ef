import type { Family } from "../../../api/address.ts";
import { codeOf } from "../../../common/errors.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import { DummyDevice } from "../../system/link/dummy-device.ts";
import { readSetting, writeSetting } from "../../system/setting.ts";
import { listGuard } from "./list.ts";
import { DEVICE } from "./read.ts";
import { isRight, SETTINGS } from "./settings.ts";

/** A switch that was set. */
export interface SettingChange {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** Whether the backend can work on this node. */
export interface Support {
  /** What is missing, each a sentence that says what mends it; empty if nothing is. */
  readonly lacks: readonly string[];
  /** What had to be set for it. */
  readonly changed: readonly SettingChange[];
}

/**
 * Finds out whether this node can do what the backend asks of it, and sets the kernel's switches. Asking the kernel for
 * IPVS has it load the module, where it may. Leaves our device behind, without an address; nothing else if something is
 * missing. Never rejects.
 */
export async function setUp(families: readonly Family[]): Promise<Support> {
  const lacks = [
    ...(await lack(() => new IpvsTable().servers())),
    ...(await lack(() => new DummyDevice(DEVICE).add("IPv4", []))),
    ...(await lack(async () => {
      for (const family of families) await listGuard(family, "rules");
    })),
  ];
  const changed: SettingChange[] = [];
  if (lacks.length > 0) return { lacks, changed };
  for (const setting of SETTINGS) {
    const { name, value, why } = setting;
    const before = await readSetting(name);
    if (isRight(setting, before)) continue;
    try {
      await writeSetting(name, value);
      changed.push({ name, before: before ?? "", after: value });
    } catch (error) {
      lacks.push(
        `${name} is ${before ?? "not there"}, and cannot be set to ${value} (${wordOf(error)}): ${why}.`,
      );
    }
  }
  return { lacks, changed };
}

async function lack(trial: () => Promise<unknown>): Promise<string[]> {
  try {
    await trial();
    return [];
  } catch (error) {
    return [sentence(error)];
  }
}

function sentence(error: unknown): string {
  const said = wordOf(error);
  switch (codeOf(error)) {
    case "CSP_IPVS_MISSING":
      return `${said}. Load it on the host: modprobe ip_vs ip_vs_rr.`;
    case "CSP_EXEC_MISSING":
      return `${said}. Install nftables.`;
    case "CSP_EXEC_FAILED":
      return `${said}. The kernel needs nf_tables, and the agent CAP_NET_ADMIN.`;
    case "CSP_NETLINK_FAILED":
      return `${said}. The agent needs CAP_NET_ADMIN, and the kernel the module dummy.`;
    default:
      return `${said}.`;
  }
}

function wordOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
