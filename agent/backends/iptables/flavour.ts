import { FAMILIES, type Family } from "../../../api/address.ts";
import { execLines } from "../../system/exec.ts";
import { legacyTables } from "../../system/legacy-tables.ts";
import { OWN } from "./chain-name.ts";

/** The two kernels behind the iptables command. */
export const FLAVOURS = ["nft", "legacy"] as const;
/** One of `FLAVOURS`. */
export type Flavour = (typeof FLAVOURS)[number];

/** A program and its arguments. */
export type Argv = readonly [string, ...string[]];

/** The tools of one flavour and family: they exist side by side, whatever `iptables` points to. */
export interface Tools {
  /** The one that lists a chain. */
  readonly list: Argv;
  readonly save: Argv;
  readonly restore: Argv;
}

/** `within`: what the tools are started through, such as `nsenter --net=…`; nothing for this namespace. */
export function toolsOf(flavour: Flavour, family: Family, within: readonly string[] = []): Tools {
  const base = `${family === "IPv4" ? "iptables" : "ip6tables"}-${flavour}`;
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

/** What is known of each flavour's tables on this node. */
export interface FlavourEvidence {
  /** True if the kubelet's or kube-proxy's hint chains are in its mangle table. */
  readonly hinted: boolean;
  /** Rules in it, ours left out. */
  readonly rules: number;
}

/**
 * The flavour that the node's other programs use, decided as the Kubernetes images decide it
 * (iptables-wrappers, KEP-3178): the one with the kubelet's hint chain, else the one with more rules, else
 * nft. Mixing flavours works, but two programs then see two halves of the truth.
 */
export function detectFlavour(evidence: Record<Flavour, FlavourEvidence>): Flavour {
  if (evidence.nft.hinted) return "nft";
  if (evidence.legacy.hinted) return "legacy";
  return evidence.legacy.rules > evidence.nft.rules ? "legacy" : "nft";
}

/** Looks at the node, and leaves it as it is. Once `stop` is aborted it looks no more; the evidence is worth nothing then. */
export async function flavourEvidence(
  stop?: AbortSignal,
): Promise<Record<Flavour, FlavourEvidence>> {
  return { nft: await evidenceOf("nft", stop), legacy: await evidenceOf("legacy", stop) };
}

/**
 * True if a flavour may hold anything in this network namespace. Listing a legacy table creates it, and a node
 * that is all nft should stay so: the legacy flavour is looked at only where it is in use.
 */
export async function inUse(flavour: Flavour, family: Family): Promise<boolean> {
  if (flavour === "nft") return true;
  return (await legacyTables(family)).length > 0;
}

async function evidenceOf(flavour: Flavour, stop?: AbortSignal): Promise<FlavourEvidence> {
  let hinted = false;
  let rules = 0;
  for (const family of FAMILIES) {
    if (stop?.aborted || !(await inUse(flavour, family))) continue;
    const onLine = (line: string) => {
      if (/^:(KUBE-IPTABLES-HINT|KUBE-KUBELET-CANARY) /.test(line)) hinted = true;
      if (line.startsWith("-A ") && !line.includes(OWN)) rules++;
    };
    // A flavour whose tools are not installed, or do not work here, is not the one that others use.
    await execLines(toolsOf(flavour, family).save, onLine, { stop }).catch(() => undefined);
  }
  return { hinted, rules };
}
