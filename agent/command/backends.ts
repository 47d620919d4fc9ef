import type { Family } from "../../api/address.ts";
import type { BackendName } from "../backends/backend.ts";
import type { Flavour } from "../backends/iptables/flavour.ts";
import { IptablesBackend } from "../backends/iptables/iptables.ts";
import type { AgentConfig } from "../config/config.ts";
import type { AnyBackend } from "../sync/agent.ts";

/** What the backends of one node are made from. */
export interface BackendOptions {
  readonly config: AgentConfig;
  readonly flavour: Flavour;
  /** Descriptors that helper processes keep open. */
  readonly keep?: readonly number[];
  /** Called when a helper process of a backend had to be given up. */
  readonly onRespawn: (family: Family) => void;
}

type Maker = (options: BackendOptions, family: Family) => AnyBackend;

/** How each backend is made; the one place that knows them all by name. */
const MAKERS: Record<BackendName, Maker> = { iptables: makeIptables };

/** One backend for each family that has a ClusterSet CIDR. */
export function makeBackends(options: BackendOptions): Map<Family, AnyBackend> {
  const make = MAKERS[options.config.backend];
  return new Map(
    options.config.clusterSetCidrs.map(({ family }) => [family, make(options, family)]),
  );
}

function makeIptables(options: BackendOptions, family: Family): AnyBackend {
  const { config, flavour, keep = [], onRespawn } = options;
  const clusterSetCidr = config.clusterSetCidrs.find((cidr) => cidr.family === family);
  if (clusterSetCidr === undefined) throw new Error(`no ClusterSet CIDR of ${family}`);
  return new IptablesBackend({
    family,
    clusterSetCidr,
    flavour,
    keep,
    masquerade: { mode: config.masquerade, podCidrs: config.podCidrs },
    onRespawn: () => onRespawn(family),
  });
}
