import type { Family } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import { codeOf, type ErrorCode } from "../../../common/errors.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import { DummyDevice } from "../../system/link/dummy-device.ts";
import { loopbackPage } from "../../system/loopback-page.ts";
import { readSetting, writeSetting } from "../../system/setting.ts";
import { KUBE_PROXY_DEVICE, KUBE_PROXY_PORT, kubeProxyObjection } from "./kube-proxy.ts";
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

/** What is asked of the node. */
export interface SupportOptions {
  readonly families: readonly Family[];
  /** The ClusterSet CIDRs. */
  readonly ranges: readonly Cidr[];
  /** What a kube-proxy in ipvs mode leaves alone, as the operator says. */
  readonly excluded: readonly Cidr[];
}

/**
 * Finds out whether this node can do what the backend asks of it, and sets the kernel's switches. Asking the kernel for
 * IPVS has it load the module, where it may. Leaves our device behind, without an address; nothing else if something is
 * missing. Never rejects.
 */
export async function setUp({ families, ranges, excluded }: SupportOptions): Promise<Support> {
  const lacks = [
    ...(await objectionOf(ranges, excluded)),
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

async function objectionOf(ranges: readonly Cidr[], excluded: readonly Cidr[]): Promise<string[]> {
  const [mode, configz] = await Promise.all([
    loopbackPage(KUBE_PROXY_PORT, "/proxyMode"),
    loopbackPage(KUBE_PROXY_PORT, "/configz"),
  ]);
  // Without netlink there is no IPVS either, which whoever asks is told by the looks that come next.
  const device =
    (await new DummyDevice(KUBE_PROXY_DEVICE).find().catch(() => undefined)) !== undefined;
  const sight = {
    device,
    ...(mode !== undefined && { mode }),
    ...(configz !== undefined && { configz }),
  };
  const objection = kubeProxyObjection(sight, ranges, excluded);
  return objection === undefined ? [] : [objection];
}

async function lack(trial: () => Promise<unknown>): Promise<string[]> {
  try {
    await trial();
    return [];
  } catch (error) {
    return [sentence(error)];
  }
}

/** What mends each. */
const CURES: ReadonlyMap<ErrorCode | undefined, string> = new Map([
  ["CSP_IPVS_MISSING", " Load it on the host: modprobe ip_vs ip_vs_rr."],
  ["CSP_EXEC_MISSING", " Install nftables."],
  ["CSP_EXEC_FAILED", " The kernel needs nf_tables, and the agent CAP_NET_ADMIN."],
  ["CSP_NETLINK_FAILED", " The agent needs CAP_NET_ADMIN, and the kernel the module dummy."],
]);

function sentence(error: unknown): string {
  return `${wordOf(error)}.${CURES.get(codeOf(error)) ?? ""}`;
}

function wordOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
