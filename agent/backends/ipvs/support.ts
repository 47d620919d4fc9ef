import type { Family } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import type { Scheduler } from "../../../api/scheduler.ts";
import { codeOf, type ErrorCode } from "../../../common/errors.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import { DummyDevice } from "../../system/link/dummy-device.ts";
import { loopbackPage } from "../../system/loopback-page.ts";
import { readSetting, trySetting, writeSetting } from "../../system/setting.ts";
import {
  KUBE_PROXY_DEVICE,
  KUBE_PROXY_PORT,
  type KubeProxySight,
  kubeProxyObjection,
} from "./kube-proxy.ts";
import { listGuard } from "./list.ts";
import { DEVICE, wrongSettings } from "./read.ts";
import type { Setting } from "./settings.ts";
import { tryScheduler, tryTables } from "./trial.ts";

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
  /** True if our device was there before: this node has worked with IPVS, and what hinders it now may pass. */
  readonly stood: boolean;
}

/** What is asked of the node. */
export interface SupportOptions {
  readonly families: readonly Family[];
  /** The ClusterSet CIDRs. */
  readonly ranges: readonly Cidr[];
  /** What a kube-proxy in ipvs mode leaves alone, as the operator says. */
  readonly excluded: readonly Cidr[];
  /** Seconds after which IPVS forgets a TCP connection that is silent; absent leaves it as it is. */
  readonly tcpTimeout?: number;
  /** The scheduler of imports that name none. */
  readonly scheduler: Scheduler;
  /** Ends what nft is asked. */
  readonly stop?: AbortSignal;
}

/** How switches are tried and set. */
export interface Switchboard {
  readonly read: (name: string) => Promise<string | undefined>;
  /** Rejects if it cannot be set, as far as that can be told before. */
  readonly try: (name: string) => Promise<void>;
  readonly write: (name: string, value: string) => Promise<void>;
}

/** Those of this network namespace. */
const KERNEL: Switchboard = { read: readSetting, try: trySetting, write: writeSetting };

/**
 * Finds out whether this node can do what the backend asks of it, and sets the kernel's switches. Asking the kernel for
 * IPVS has it load the module, where it may. Leaves our device behind, without an address; nothing at all if something is
 * missing. Never rejects.
 */
export async function setUp(options: SupportOptions): Promise<Support> {
  const { families, ranges, excluded, tcpTimeout, scheduler, stop } = options;
  const device = new DummyDevice(DEVICE);
  // Without netlink there is none, which the looks that come next tell.
  const stood = (await device.find().catch(() => undefined)) !== undefined;
  const ipvs = await fault(() => new IpvsTable().servers());
  const faults = [
    ipvs,
    await fault(() => device.add("IPv4", [])),
    await fault(async () => {
      for (const family of families) await listGuard(family, "rules", stop);
      for (const family of families) await tryTables(family, stop);
    }),
    // Without IPVS, that is all there is to say of it.
    ipvs === undefined
      ? await fault(async () => {
          for (const family of families) await tryScheduler(family, scheduler);
        })
      : undefined,
  ];
  const lacks = [
    ...(await objectionOf(ranges, excluded)),
    ...sentencesOf(faults.filter((one) => one !== undefined)),
    // Its switches are there as long as IPVS is.
    ...(ipvs === undefined ? await lackOfSwitches(KERNEL) : []),
  ];
  const support = lacks.length === 0 ? await setSwitches(KERNEL) : { lacks, changed: [] };
  if (support.lacks.length > 0 && !stood) await device.remove().catch(() => false);
  if (support.lacks.length > 0 || tcpTimeout === undefined) return { ...support, stood };
  const changed = [...support.changed];
  const refused = await fault(async () => {
    changed.push(...(await setTcpTimeout(tcpTimeout)));
  });
  return { lacks: refused === undefined ? [] : sentencesOf([refused]), changed, stood };
}

/** Returns what it has changed: nothing if it is so already. */
async function setTcpTimeout(seconds: number): Promise<SettingChange[]> {
  const table = new IpvsTable();
  const before = await table.tcpTimeout();
  if (before === seconds) return [];
  await table.setTcpTimeout(seconds);
  return [{ name: "IPVS's timeout of TCP", before: `${before}s`, after: `${seconds}s` }];
}

/** What says that a switch which is not as it should be cannot be set; nothing if all are right, or can be. */
export async function lackOfSwitches(board: Switchboard): Promise<string[]> {
  const lacks: string[] = [];
  for (const setting of await wrongSettings(board.read)) {
    await board.try(setting.name).catch((error: unknown) => {
      lacks.push(switchSentence(setting, error));
    });
  }
  return lacks;
}

/** Sets all switches that are not as they should be; if one cannot be, those that were set are put back. Never rejects. */
export async function setSwitches(board: Switchboard): Promise<Omit<Support, "stood">> {
  const changed: SettingChange[] = [];
  for (const setting of await wrongSettings(board.read)) {
    const { name, value } = setting;
    const before = await board.read(name);
    try {
      await board.write(name, value);
      changed.push({ name, before: before ?? "", after: value });
    } catch (error) {
      const lacks = [switchSentence(setting, error)];
      for (const one of changed.toReversed()) {
        await board.write(one.name, one.before).catch((fault: unknown) => {
          lacks.push(`${one.name} was set to ${one.after}, and stays so: ${wordOf(fault)}.`);
        });
      }
      return { lacks, changed: [] };
    }
  }
  return { lacks: [], changed };
}

function switchSentence({ value, why }: Setting, error: unknown): string {
  return `${wordOf(error)}; it must be ${value}, or else ${why}. Let the agent set it (in a pod: deploy/components/ipvs), or set it on the node, in /etc/sysctl.d.`;
}

async function objectionOf(ranges: readonly Cidr[], excluded: readonly Cidr[]): Promise<string[]> {
  const objection = kubeProxyObjection(await sightOfKubeProxy(), ranges, excluded);
  return objection === undefined ? [] : [objection];
}

/** What can be seen of a kube-proxy on this node. Never rejects. */
export async function sightOfKubeProxy(): Promise<KubeProxySight> {
  const [mode, configz] = await Promise.all([
    loopbackPage(KUBE_PROXY_PORT, "/proxyMode"),
    loopbackPage(KUBE_PROXY_PORT, "/configz"),
  ]);
  // Without netlink there is no IPVS either, which whoever asks is told by the looks that come next.
  const device =
    (await new DummyDevice(KUBE_PROXY_DEVICE).find().catch(() => undefined)) !== undefined;
  return {
    device,
    ...(mode !== undefined && { mode }),
    ...(configz !== undefined && { configz }),
  };
}

async function fault(trial: () => Promise<unknown>): Promise<Error | undefined> {
  try {
    await trial();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** What mends each. */
const CURES: ReadonlyMap<ErrorCode | undefined, string> = new Map([
  ["CSP_IPVS_MISSING", " Load it on the host: modprobe ip_vs ip_vs_rr."],
  ["CSP_EXEC_MISSING", " Install nftables."],
  [
    "CSP_EXEC_FAILED",
    " The kernel needs nf_tables (modprobe nf_tables), of Linux 5.10 or newer, and nft JSON.",
  ],
]);
/** What the kernel, and nft, say to who has no right. */
const DENIED = /\b(EPERM|EACCES)\b|Operation not permitted/;
/** What the kernel says of a kind of device that it does not know. */
const NO_DEVICE = /\b(ENOTSUP|EOPNOTSUPP)\b/;

/**
 * What is missing, and what mends it, a sentence or two for each; rights are named once, whatever they were missing for.
 * PURE.
 */
export function sentencesOf(faults: readonly Error[]): string[] {
  const denied = faults.filter(({ message }) => DENIED.test(message));
  const others = faults.filter((one) => !denied.includes(one));
  const rights = denied.map((one) => wordOf(one)).join("; ");
  return [
    ...(denied.length === 0
      ? []
      : [`The agent needs CAP_NET_ADMIN in the node's network: ${rights}.`]),
    ...others.map((one) => `${wordOf(one)}.${cureOf(one)}`),
  ];
}

function cureOf(error: Error): string {
  if (NO_DEVICE.test(error.message)) return " Load the module on the host: modprobe dummy.";
  return CURES.get(codeOf(error)) ?? "";
}

function wordOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s+/g, " ").trim();
}
