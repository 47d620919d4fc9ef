import type { Reason } from "../../api/reasons.ts";
import type { OwnIdentity } from "../identity/own-identity.ts";

/** Reasons why a replica does not work. */
export type PermitReason = Extract<
  Reason,
  "not-listed" | "not-renewed" | "standby" | OwnIdentity["reason"]
>;
