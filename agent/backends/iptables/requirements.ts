import type { Requirements } from "../requirements.ts";
import { type Flavour, programOf } from "./flavour.ts";
import { ExtensionTrials } from "./limits.ts";

/** The lock file of the legacy tools; iptables itself reads the variable. */
const XTABLES_LOCK = process.env.XTABLES_LOCKFILE ?? "/run/xtables.lock";

/**
 * The oldest versions that work. nft: 1.8.0 to 1.8.3 lose or misread rules (kubernetes#82361, k3s#3117). legacy: 1.6.2 added
 * MASQUERADE --random-fully and iptables-restore -w.
 */
const OLDEST = { nft: [1, 8, 4], legacy: [1, 6, 2] } as const;

/** What the rules of one flavour require of a node. */
export function requirementsOf(
  flavour: Flavour,
  trials = new ExtensionTrials(flavour),
): Requirements {
  return {
    tools: (families) =>
      families.map((family) => {
        const program = programOf(flavour, family);
        const install = "Install iptables, or choose another --iptables-flavour";
        return { program, query: [program, "--version"], oldest: OLDEST[flavour], install };
      }),
    lockFiles: flavour === "legacy" ? [XTABLES_LOCK] : [],
    needsRoute: true,
    rejectedExtensions: (family, stop) => trials.rejected(family, stop),
  };
}
