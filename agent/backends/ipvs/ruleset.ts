import type { Scheduler } from "../../../api/scheduler.ts";
import { ServiceRuleset } from "../nft/service-ruleset.ts";
import { renderServers } from "./render.ts";
import type { DesiredServer } from "./state.ts";

/** The desired virtual servers of one family. */
export class IpvsRuleset extends ServiceRuleset<DesiredServer> {
  /** `scheduler`: of imports that name none. */
  constructor(scheduler: Scheduler) {
    super((service) => renderServers(service, scheduler));
  }
}
