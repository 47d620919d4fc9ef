import { readFile } from "node:fs/promises";
import type { Family } from "../../../api/address.ts";
import { execLines } from "../../system/exec.ts";

/** The two kernels behind the iptables command. */
export const FLAVOURS = ["nft", "legacy"] as const;
/** One of `FLAVOURS`. */
export type Flavour = (typeof FLAVOURS)[number];

/** A program and its arguments. */
export type Argv = readonly [string, ...string[]];

/** The tools of one flavour and family: they exist side by side, whatever `iptables` points to. */
export interface Tools {
  readonly save: Argv;
  readonly restore: Argv;
}

/** `within`: what the tools are started through, such as `nsenter --net=…`; nothing for this namespace. */
export function toolsOf(flavour: Flavour, family: Family, within: readonly string[] = []): Tools {
  const base = `${family === "IPv4" ? "iptables" : "ip6tables"}-${flavour}`;
  const through = (tool: string): Argv => {
    const [program = tool, ...args] = [...within, tool];
    return [program, ...args];
  };
  return { save: through(`${base}-save`), restore: through(`${base}-restore`) };
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

/** Looks at the node. Read-only: listing a legacy table would create it, so only existing ones are listed. */
export async function flavourEvidence(): Promise<Record<Flavour, FlavourEvidence>> {
  const names = await Promise.all(
    ["/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"].map(legacyTables),
  );
  return {
    nft: await evidenceOf("nft", { IPv4: true, IPv6: true }),
    legacy: await evidenceOf("legacy", { IPv4: names[0] ?? false, IPv6: names[1] ?? false }),
  };
}

async function legacyTables(path: string): Promise<boolean> {
  // The file is missing while the legacy module is not loaded: then it has no tables either.
  const names = await readFile(path, "utf8").catch(() => "");
  return names.trim() !== "";
}

async function evidenceOf(
  flavour: Flavour,
  present: Record<Family, boolean>,
): Promise<FlavourEvidence> {
  let hinted = false;
  let rules = 0;
  for (const family of ["IPv4", "IPv6"] as const) {
    if (!present[family]) continue;
    const onLine = (line: string) => {
      if (/^:(KUBE-IPTABLES-HINT|KUBE-KUBELET-CANARY) /.test(line)) hinted = true;
      if (line.startsWith("-A ") && !line.includes("CSP-")) rules++;
    };
    // A flavour whose tools are not installed, or do not work here, is not the one that others use.
    await execLines(toolsOf(flavour, family).save, onLine).catch(() => undefined);
  }
  return { hinted, rules };
}
