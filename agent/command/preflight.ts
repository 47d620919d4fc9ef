import type { Family } from "../../api/address.ts";
import { systemClock } from "../../common/clock.ts";
import type { AgentConfig } from "../config/config.ts";
import type { Observer } from "../observe/observer.ts";
import { Preflight, type ToldServiceCidrs } from "../preflight/preflight.ts";
import { knockCommand } from "../system/knock.ts";
import { outcomeOf } from "../system/outcome.ts";
import { textOf } from "../system/text-file.ts";
import type { Chosen } from "./choose-backend.ts";

/** Where the legacy flavour locks out other programs; iptables itself reads the variable. */
const XTABLES_LOCK = process.env.XTABLES_LOCKFILE ?? "/run/xtables.lock";

/**
 * What looks at this node. `toldServiceCidrs`: what the API server has told of them; `guarded`: whether a family's guard
 * is in the kernel.
 */
export function makePreflight(
  config: AgentConfig,
  chosen: Chosen,
  observer: Observer,
  toldServiceCidrs: ToldServiceCidrs,
  guarded: (family: Family) => boolean,
): Preflight {
  const flavour = chosen.backend === "iptables" ? chosen.flavour : undefined;
  return new Preflight({
    clusterSetCidrs: config.clusterSetCidrs,
    serviceCidrs: config.serviceCidrs,
    toldServiceCidrs,
    ...(flavour !== undefined && { flavour }),
    lockFiles: [config.lockFile, ...(flavour === "legacy" ? [XTABLES_LOCK] : [])],
    knock: knockCommand,
    sight: { run: outcomeOf, read: textOf },
    clock: systemClock,
    guarded,
    told: (verdicts, conntrack) => observer.looked(verdicts, conntrack),
  });
}
