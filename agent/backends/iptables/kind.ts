import { FAMILIES } from "../../../api/address.ts";
import { codeOf } from "../../../common/errors.ts";
import type { Logger } from "../../../common/log.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import type { BackendConfig, BackendKind, ReadyBackend } from "../backend-kind.ts";
import { IptablesBackend } from "./backend.ts";
import { detectFlavour, FLAVOURS, type Flavour, flavourEvidence } from "./flavour.ts";
import { ExtensionTrials } from "./limits.ts";
import { heldReader } from "./list-held.ts";
import { removeOwn } from "./remove.ts";
import { requirementsOf } from "./requirements.ts";

/** The iptables backend. Every node supports it: a missing tool fails the first sync. */
export const iptables: BackendKind = {
  prepare: async (config, log, stop) => {
    const flavour = await chooseFlavour(config, log, stop);
    return flavour === undefined ? undefined : ready(config, flavour);
  },

  // Both flavours read the same text.
  assume: (config) => ready(config, "nft"),

  leftovers: ({ keep, inUse, stop }) => {
    // While the guard exists, it rejects connections that only the other backend forwards.
    const first = inUse === "none" ? "dnat" : "guard";
    return FLAVOURS.flatMap((flavour) =>
      FAMILIES.map((family) => ({
        variant: { flavour },
        family,
        remove: async () => {
          try {
            return await removeOwn(flavour, family, { first, keep, stop });
          } catch (error) {
            // Tools that are not installed have written nothing.
            if (codeOf(error) === "CSP_EXEC_MISSING") return 0;
            throw error;
          }
        },
      })),
    );
  },
};

function ready({ masquerade: mode, podCidrs }: BackendConfig, flavour: Flavour): ReadyBackend {
  const trials = new ExtensionTrials(flavour);
  const commits = flavour === "nft" ? { commits: new NftCommits() } : {};
  return {
    variant: { flavour },
    requirements: requirementsOf(flavour, trials),
    open: (family, clusterSetCidrs, options) => ({
      backend: new IptablesBackend({
        ...{ family, clusterSetCidrs, masquerade: { mode, podCidrs } },
        ...{ flavour, ...options, ...commits },
      }),
      reader: heldReader(flavour, family),
    }),
    limits: (family, stop) => trials.limits(family, stop),
    watch: () => () => undefined,
  };
}

/** The flavour from the flag, or else the one that other programs of the node use; undefined once `stop` is aborted. */
async function chooseFlavour(
  { iptablesFlavour }: BackendConfig,
  log: Logger,
  stop: AbortSignal,
): Promise<Flavour | undefined> {
  if (iptablesFlavour !== "auto") return iptablesFlavour;
  const evidence = await flavourEvidence(stop);
  if (stop.aborted) return undefined;
  const flavour = detectFlavour(evidence);
  log.info("Chose the iptables flavour", { flavour, evidence });
  return flavour;
}
