import type { Outcome } from "./sight.ts";
import { failing, unknown, type Verdict, well } from "./verdict.ts";

/** A tool that the agent writes with. */
export interface ToolFact {
  /** `iptables-nft`. */
  readonly program: string;
  readonly missing: boolean;
  /** Absent if it is missing or does not say. */
  readonly version?: Version;
}

/** Major, minor and patch number. */
export type Version = readonly [number, number, number];

/**
 * The oldest versions that our rules and reading back rely on. nft: 1.8.0 to 1.8.3 lose or misread rules
 * (kubernetes#82361, k3s#3117). legacy: 1.6.2 brought MASQUERADE --random-fully and iptables-restore -w.
 */
const OLDEST = { nft: [1, 8, 4], legacy: [1, 6, 2] } as const;

/** What `PROGRAM --version` said. PURE. */
export function parseTool(program: string, { missing, stdout }: Outcome): ToolFact {
  const [, major, minor, patch] = /\bv(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? [];
  if (major === undefined) return { program, missing };
  return { program, missing, version: [Number(major), Number(minor), Number(patch)] };
}

/** Whether the tools are there, and new enough. PURE. */
export function judgeTools(flavour: "nft" | "legacy", tools: readonly ToolFact[]): Verdict {
  const place = { check: "tools" } as const;
  const gone = tools.filter(({ missing }) => missing).map(({ program }) => program);
  if (gone.length > 0) {
    const advice = `${gone.join(", ")} is not installed, so nothing can be written: install iptables, or choose another --iptables-flavour.`;
    return failing(place, "tool-missing", advice);
  }
  const oldest = OLDEST[flavour];
  for (const { program, version } of tools) {
    if (version === undefined) return unknown(place, `${program} does not say its version.`);
    if (!isOlder(version, oldest)) continue;
    const advice = `${program} is ${version.join(".")}, older than ${oldest.join(".")}, and known to lose or refuse rules like ours: install a newer one.`;
    return failing(place, "tool-old", advice);
  }
  return well(place);
}

/**
 * Whether nft is there. What it cannot write is no matter of its version alone: all of our rules are one transaction, so the
 * first sync tells. PURE.
 */
export function judgeNft({ missing, version }: ToolFact): Verdict {
  const place = { check: "tools" } as const;
  if (missing) {
    const advice = "nft is not installed, so nothing can be written: install nftables.";
    return failing(place, "tool-missing", advice);
  }
  return version === undefined ? unknown(place, "nft does not say its version.") : well(place);
}

function isOlder(version: Version, than: Version): boolean {
  const i = version.findIndex((number, at) => number !== than[at]);
  return i >= 0 && (version[i] ?? 0) < (than[i] ?? 0);
}
