import { familiesIn, ofFamily } from "../../../api/cidr.ts";
import { codeOf, type ErrorCode } from "../../../common/errors.ts";
import { hasInterface } from "../../system/addresses.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import { loopbackPage } from "../../system/loopback-page.ts";
import { checkSysctlWritable, readSysctl, writeSysctl } from "../../system/sysctl.ts";
import type { BackendConfig } from "../backend-kind.ts";
import { KUBE_PROXY_PORT, type KubeProxyReport, kubeProxyObjection } from "./kube-proxy.ts";
import { probeScheduler, probeTables } from "./probe.ts";
import { isBesideKubeProxy, listGuard, vipDevice, wrongSettings } from "./read.ts";
import { kernelScheduler } from "./render.ts";
import type { Setting } from "./settings.ts";

/** A kernel setting that was changed. */
export interface SettingChange {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** Whether this node supports IPVS. */
export interface Support {
  /** What is missing, each a sentence that says how to add it; empty if nothing is. */
  readonly lacks: readonly string[];
  /** What was changed for it. */
  readonly changed: readonly SettingChange[];
  /** True if our device existed before: an earlier run used IPVS on this node. */
  readonly usedBefore: boolean;
}

/** How sysctls are read and written. */
export interface Sysctls {
  readonly read: (name: string) => Promise<string | undefined>;
  /** Rejects if the sysctl cannot be written, as far as that can be found out without writing it. */
  readonly try: (name: string) => Promise<void>;
  readonly write: (name: string, value: string) => Promise<void>;
}

/** Those of this network namespace. */
const KERNEL: Sysctls = { read: readSysctl, try: checkSysctlWritable, write: writeSysctl };

/**
 * Tests whether this node supports the backend, and sets its sysctls. The kernel may load the module ip_vs for that. Leaves our
 * device behind, without an address, unless something is missing. `stop` ends queries of nft. Never rejects.
 */
export async function setUp(config: BackendConfig, stop?: AbortSignal): Promise<Support> {
  const { clusterSetCidrs, ipvsTcpTimeout: tcpTimeout, ipvsScheduler: scheduler } = config;
  // The next steps report what netlink lacks. A device in use has addresses, which need no netlink, and must not be removed below.
  const usedBefore = await vipDevice.find().then(
    (device) => device !== undefined,
    () => hasInterface(vipDevice.name),
  );
  const faults: Error[] = [];
  const attempt = async (trial: () => Promise<unknown>) => {
    try {
      await trial();
      return true;
    } catch (error) {
      faults.push(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
  };
  const hasIpvs = await attempt(() => new IpvsTable().servers());
  await attempt(() => vipDevice.add("IPv4", []));
  const families = familiesIn(clusterSetCidrs);
  await attempt(async () => {
    for (const family of families) await listGuard(family, "rules", stop);
    for (const family of families) {
      await probeTables(family, ofFamily(clusterSetCidrs, family), stop);
    }
  });
  // Without IPVS, its schedulers and sysctls are missing, too.
  if (hasIpvs) {
    await attempt(async () => {
      for (const family of families)
        await probeScheduler(family, kernelScheduler(scheduler, false));
    });
  }
  const objection = kubeProxyObjection(
    await readKubeProxy(),
    clusterSetCidrs,
    config.kubeProxyExcludeCidrs,
  );
  const lacks = [
    ...(objection === undefined ? [] : [objection]),
    ...sentencesOf(faults),
    ...(hasIpvs ? await unwritableSysctls(KERNEL) : []),
  ];
  const support = lacks.length === 0 ? await setSysctls(KERNEL) : { lacks, changed: [] };
  // A device that cannot be removed changes nothing: it has no address, and the next run finds it.
  if (support.lacks.length > 0 && !usedBefore) await vipDevice.remove().catch(() => false);
  if (support.lacks.length > 0 || tcpTimeout === undefined) return { ...support, usedBefore };
  const changed = [...support.changed];
  await attempt(async () => void changed.push(...(await setTcpTimeout(tcpTimeout))));
  return { lacks: sentencesOf(faults), changed, usedBefore };
}

/** Returns what it changed. */
async function setTcpTimeout(seconds: number): Promise<SettingChange[]> {
  const table = new IpvsTable();
  const before = await table.tcpTimeout();
  if (before === seconds) return [];
  await table.setTcpTimeout(seconds);
  return [{ name: "IPVS TCP timeout", before: `${before}s`, after: `${seconds}s` }];
}

/** A sentence for each sysctl that has the wrong value and cannot be written. */
export async function unwritableSysctls(sysctls: Sysctls): Promise<string[]> {
  const lacks: string[] = [];
  for (const setting of await wrongSettings(sysctls.read)) {
    await sysctls.try(setting.name).catch((error: unknown) => {
      lacks.push(sysctlSentence(setting, error));
    });
  }
  return lacks;
}

/** Sets all sysctls that have the wrong value. If one cannot be set, restores those before it. Never rejects. */
export async function setSysctls(sysctls: Sysctls): Promise<Omit<Support, "usedBefore">> {
  const changed: SettingChange[] = [];
  for (const setting of await wrongSettings(sysctls.read)) {
    const { name, value } = setting;
    const before = await sysctls.read(name);
    try {
      await sysctls.write(name, value);
      changed.push({ name, before: before ?? "", after: value });
    } catch (error) {
      const lacks = [sysctlSentence(setting, error)];
      for (const one of changed.toReversed()) {
        await sysctls.write(one.name, one.before).catch((fault: unknown) => {
          lacks.push(
            `${one.name} was set to ${one.after} and could not be restored: ${textOf(fault)}.`,
          );
        });
      }
      return { lacks, changed: [] };
    }
  }
  return { lacks: [], changed };
}

function sysctlSentence({ value, why }: Setting, error: unknown): string {
  return `${textOf(error)}; it must be ${value}, or else ${why}. Let the agent set it (in a pod: deploy/components/ipvs), or set it on the node, in /etc/sysctl.d.`;
}

/** What a kube-proxy on this node reports of itself. Never rejects. */
export async function readKubeProxy(): Promise<KubeProxyReport> {
  const [mode, configz] = await Promise.all([
    loopbackPage(KUBE_PROXY_PORT, "/proxyMode"),
    loopbackPage(KUBE_PROXY_PORT, "/configz"),
  ]);
  // Without netlink there is no IPVS either; other checks report that.
  const device = await isBesideKubeProxy().catch(() => false);
  return { device, ...(mode !== undefined && { mode }), ...(configz !== undefined && { configz }) };
}

/** How to fix each error. */
const FIXES: ReadonlyMap<ErrorCode | undefined, string> = new Map([
  ["CSP_IPVS_MISSING", " Load it on the host: modprobe ip_vs ip_vs_wrr."],
  ["CSP_EXEC_MISSING", " Install nftables."],
  [
    "CSP_EXEC_FAILED",
    " The kernel needs nf_tables (modprobe nf_tables), of Linux 5.10 or newer, and nft JSON.",
  ],
]);
/** Errors of the kernel and nft for a missing capability. */
const DENIED = /\b(EPERM|EACCES)\b|Operation not permitted/;
/** The kernel's errors for a type of device that it does not support. */
const NO_DEVICE = /\b(ENOTSUP|EOPNOTSUPP)\b/;

/** What is missing and how to add it, a sentence or two for each error; missing rights are one sentence. PURE. */
export function sentencesOf(faults: readonly Error[]): string[] {
  const denied = faults.filter(({ message }) => DENIED.test(message));
  const others = faults.filter((one) => !denied.includes(one));
  const rights = denied.map((one) => textOf(one)).join("; ");
  return [
    ...(denied.length === 0
      ? []
      : [`The agent needs CAP_NET_ADMIN in the node's network: ${rights}.`]),
    ...others.map((one) => `${textOf(one)}.${fixOf(one)}`),
  ];
}

function fixOf(error: Error): string {
  if (NO_DEVICE.test(error.message)) return " Load the module on the host: modprobe dummy.";
  return FIXES.get(codeOf(error)) ?? "";
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s+/g, " ").trim();
}
