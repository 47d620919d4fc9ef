import type { Family } from "../../api/address.ts";
import { codeOf } from "../../common/errors.ts";
import type { Logger } from "../../common/log.ts";
import { detectFlavour, type Flavour, flavourEvidence } from "../backends/iptables/flavour.ts";
import { removeOwn } from "../backends/iptables/remove.ts";
import type { AgentConfig } from "../config/config.ts";

/** The flavour to write to: what the operator said, else what the node's other programs use. */
export async function chooseFlavour(config: AgentConfig, log: Logger): Promise<Flavour> {
  if (config.iptablesFlavour !== "auto") return config.iptablesFlavour;
  const evidence = await flavourEvidence();
  const flavour = detectFlavour(evidence);
  log.info("Chose the iptables flavour.", { flavour, evidence });
  return flavour;
}

/**
 * Removes what an earlier run left in the other flavour. Called once the kernel is as planned in `flavour`:
 * two sets of rules for a moment lead to the same endpoints, none would lead nowhere.
 */
export async function removeOtherFlavour(
  flavour: Flavour,
  families: readonly Family[],
  log: Logger,
): Promise<void> {
  const other = flavour === "nft" ? "legacy" : "nft";
  for (const family of families) {
    try {
      const removed = await removeOwn(other, family);
      if (removed > 0)
        log.info("Removed our rules of another flavour.", { flavour: other, family });
    } catch (error) {
      // Tools that are not installed have written nothing.
      if (codeOf(error) === "CSP_EXEC_MISSING") continue;
      log.warn("Could not look for rules of another flavour.", { flavour: other, family, error });
    }
  }
}
