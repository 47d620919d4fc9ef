import type { Logger } from "../../common/log.ts";
import { detectFlavour, type Flavour, flavourEvidence } from "../backends/iptables/flavour.ts";
import type { AgentConfig } from "../config/config.ts";

/**
 * The flavour to write to: what the operator said, else what the node's other programs use. Gives undefined if `stop` is
 * aborted first.
 */
export async function chooseFlavour(
  config: AgentConfig,
  log: Logger,
  stop: AbortSignal,
): Promise<Flavour | undefined> {
  if (config.iptablesFlavour !== "auto") return config.iptablesFlavour;
  const evidence = await flavourEvidence(stop);
  if (stop.aborted) return undefined;
  const flavour = detectFlavour(evidence);
  log.info("Chose the iptables flavour.", { flavour, evidence });
  return flavour;
}
