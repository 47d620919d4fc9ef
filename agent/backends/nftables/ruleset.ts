import { ServiceRuleset } from "../nft/service-ruleset.ts";
import { renderService } from "./render.ts";
import type { DesiredService } from "./state.ts";

/** The desired elements of one family. */
export class NftablesRuleset extends ServiceRuleset<DesiredService> {
  constructor() {
    super(renderService);
  }
}
