import { FAMILIES, type Family } from "../../../api/address.ts";
import { CodedError, codeOf } from "../../../common/errors.ts";
import { legacyTables } from "../../system/kernel-files.ts";
import type { Argv } from "../../system/program-result.ts";
import { execLines, type RunLimits } from "../../system/run-program.ts";
import { OWN } from "./chain-name.ts";

/** The two kernel interfaces of iptables. */
export const FLAVOURS = ["nft", "legacy"] as const;
/** One of `FLAVOURS`. */
export type Flavour = (typeof FLAVOURS)[number];

/** The tools of one flavour and family. Both flavours are installed side by side. */
export interface Tools {
  /** Lists a chain. */
  readonly list: Argv;
  readonly save: Argv;
  readonly restore: Argv;
}

/** `iptables-nft`: the tool that changes and lists single rules. */
export function programOf(flavour: Flavour, family: Family): string {
  return `${family === "IPv4" ? "iptables" : "ip6tables"}-${flavour}`;
}

/** `within`: a command that starts the tools, such as `nsenter --net=…`; empty for this namespace. */
export function toolsOf(flavour: Flavour, family: Family, within: readonly string[] = []): Tools {
  const base = programOf(flavour, family);
  const through = (tool: string): Argv => {
    const [program, ...args] = within;
    return program === undefined ? [tool] : [program, ...args, tool];
  };
  return {
    list: through(base),
    save: through(`${base}-save`),
    restore: through(`${base}-restore`),
  };
}

/** The tools' messages without CAP_NET_RAW (1.8.9), and what to do. */
const RAW_SOCKET = [
  [/Cannot initialize: Permission denied/, "legacy tables need CAP_NET_ADMIN and CAP_NET_RAW"],
  [/Can't open socket to ipset/, "rules with an ipset need CAP_NET_RAW"],
] as const;
const ADVICE = "in a pod, add deploy/components/net-raw";

/**
 * Runs `iptables-save`. Rejects as `execLines` does, and with CSP_CAPABILITY_MISSING if it cannot open a raw socket: to read
 * legacy tables, or the name of an ipset.
 */
export async function saveLines(
  save: Argv,
  onLine: (line: string) => void,
  limits: RunLimits,
): Promise<void> {
  try {
    await execLines(save, onLine, limits);
  } catch (error) {
    const text = String(error);
    const [, why] = RAW_SOCKET.find(([message]) => message.test(text)) ?? [];
    if (why === undefined) throw error;
    throw new CodedError("CSP_CAPABILITY_MISSING", `${save.join(" ")}: ${why}: ${ADVICE}`, {
      cause: error,
    });
  }
}

/** What a flavour's tables hold on this node. */
export interface FlavourEvidence {
  /** True if the kubelet or kube-proxy has a hint chain in its mangle table. */
  readonly hinted: boolean;
  /** The number of rules, without ours. */
  readonly rules: number;
  /** True if there are tables, but the agent may not read them. */
  readonly unreadable: boolean;
}

/**
 * The flavour that other programs of the node use, by the rule of Kubernetes' images (iptables-wrappers, KEP-3178): the one
 * with the kubelet's hint chain, or else the one with more rules, or else nft. Both flavours can be mixed, but no tool then
 * lists all rules. Legacy tables that cannot be read may hold the hint, more rules, and ours: the first sync then reports it.
 */
export function detectFlavour(evidence: Record<Flavour, FlavourEvidence>): Flavour {
  if (evidence.nft.hinted) return "nft";
  if (evidence.legacy.hinted) return "legacy";
  return evidence.legacy.unreadable || evidence.legacy.rules > evidence.nft.rules
    ? "legacy"
    : "nft";
}

/** Reads the tables of both flavours. Incomplete once `stop` is aborted. */
export async function flavourEvidence(
  stop?: AbortSignal,
): Promise<Record<Flavour, FlavourEvidence>> {
  return { nft: await evidenceOf("nft", stop), legacy: await evidenceOf("legacy", stop) };
}

/**
 * True if a flavour may hold rules in this network namespace. Listing a legacy table creates it, so legacy tables are listed
 * only on nodes that have some.
 */
export async function inUse(flavour: Flavour, family: Family): Promise<boolean> {
  if (flavour === "nft") return true;
  return (await legacyTables(family)).length > 0;
}

async function evidenceOf(flavour: Flavour, stop?: AbortSignal): Promise<FlavourEvidence> {
  let hinted = false;
  let rules = 0;
  let unreadable = false;
  for (const family of FAMILIES) {
    if (stop?.aborted || !(await inUse(flavour, family))) continue;
    const onLine = (line: string) => {
      if (/^:(KUBE-IPTABLES-HINT|KUBE-KUBELET-CANARY) /.test(line)) hinted = true;
      if (line.startsWith("-A ") && !line.includes(OWN)) rules++;
    };
    // A flavour whose tools are missing or fail counts as unused: if both fail, nft is chosen, and its first sync reports the fault.
    await saveLines(toolsOf(flavour, family).save, onLine, { stop }).catch((error: unknown) => {
      if (codeOf(error) === "CSP_CAPABILITY_MISSING") unreadable = true;
    });
  }
  return { hinted, rules, unreadable };
}
