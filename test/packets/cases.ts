import { ADDRESS_CASES } from "./cases/addresses.ts";
import { MASQUERADE_CASES } from "./cases/masquerading.ts";
import { POLICY_CASES } from "./cases/policies.ts";
import { PORT_CASES } from "./cases/ports.ts";
import { SELECTOR_CASES } from "./cases/selectors.ts";
import { SHARE_CASES } from "./cases/shares.ts";
import { TIER_CASES } from "./cases/tiers.ts";
import type { PacketCase } from "./packet-case.ts";

/** The packet table: the expected results for every backend. */
export const PACKET_CASES: readonly PacketCase[] = [
  ...TIER_CASES,
  ...SELECTOR_CASES,
  ...SHARE_CASES,
  ...PORT_CASES,
  ...POLICY_CASES,
  ...ADDRESS_CASES,
  ...MASQUERADE_CASES,
];
