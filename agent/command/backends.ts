import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { IptablesBackend } from "../backends/iptables/iptables.ts";
import { IpvsBackend } from "../backends/ipvs/ipvs.ts";
import type { AgentConfig } from "../config/config.ts";
import type { AnyBackend } from "../sync/agent.ts";
import type { Chosen } from "./choose-backend.ts";

/** What the backends of one node are made from. */
export interface BackendOptions {
  readonly config: AgentConfig;
  readonly chosen: Chosen;
  /** Descriptors that helper processes keep open. */
  readonly keep?: readonly number[];
  /** Called when a helper process of a backend had to be given up. */
  readonly onRespawn: (family: Family) => void;
}

/** One backend for each family that has a ClusterSet CIDR. */
export function makeBackends(options: BackendOptions): Map<Family, AnyBackend> {
  return new Map(
    options.config.clusterSetCidrs.map((cidr) => [cidr.family, makeBackend(options, cidr)]),
  );
}

/** The one place that knows all backends by name. */
function makeBackend(
  { config, chosen, keep = [], onRespawn }: BackendOptions,
  clusterSetCidr: Cidr,
): AnyBackend {
  const { family } = clusterSetCidr;
  const masquerade = { mode: config.masquerade, podCidrs: config.podCidrs };
  const common = { family, clusterSetCidr, masquerade };
  switch (chosen.backend) {
    case "iptables": {
      const { flavour } = chosen;
      return new IptablesBackend({ ...common, flavour, keep, onRespawn: () => onRespawn(family) });
    }
    case "ipvs":
      return new IpvsBackend({
        ...common,
        ...{ scheduler: config.ipvsScheduler, takesOver: true, keep },
        onRespawn: () => onRespawn(family),
      });
  }
}
