import type { Reason } from "../../api/reasons.ts";
import type { VipLack, Vips } from "../allocate/vips.ts";
import type { Claim, Condition } from "../model/condition.ts";
import type { ConditionEvent } from "./condition-events.ts";
import { withRotation } from "./rotation-message.ts";
import type { VipFault, VipFaults } from "./vip-faults.ts";

/** A write that the API server rejects. */
export interface Rejected {
  /** Of the fault. */
  readonly reason: string;
  readonly message: string;
}

/** Condition of a headless import. */
export const HEADLESS_READY: Claim = {
  type: "Ready",
  status: "True",
  reason: "Ready",
  message: "Headless: DNS returns its endpoints.",
};

/** Which import holds the VIP is not said: its author may be somebody else. `kubectl get ipaddresses` shows it. */
const FAULTS: Readonly<Record<VipFault, string>> = {
  "vip-conflict": "belongs to another import or program",
  "vip-contested": "is listed by several imports, and nothing shows which was the first",
  "vip-reserved": "cannot be a VIP",
  "vip-not-allowed": "is neither in --clusterset-cidr nor in --explicit-vip-cidrs",
  "family-off": "is of an IP family without a range in --clusterset-cidr",
};

const LACKS: Readonly<Record<VipLack, string>> = {
  "range-exhausted": "no free",
  "range-missing": "no",
  "range-share":
    "this namespace has at least four times as many addresses as are free, so it gets no further",
};

/** Reason of the condition of an import without a VIP that works, the first that applies. */
const FAULT_REASONS: Readonly<Record<VipFault, string>> = {
  "vip-conflict": "VIPConflict",
  "vip-contested": "VIPConflict",
  "vip-reserved": "VIPNotAllowed",
  "vip-not-allowed": "VIPNotAllowed",
  "family-off": "IPFamilyNotSupported",
};

/**
 * Condition of an import with or without VIPs. Without a VIP the reason is one of `FAULT_REASONS` if it lists one that does not work,
 * `IPFamilyNotSupported` if its families have no range, else `Pending` (KEP-1645). The message begins with our own reason word.
 */
export function readyClaim(
  { vips, lacking }: Pick<Vips, "lacking" | "vips">,
  faults: VipFaults = new Map(),
): Claim {
  const own = vips.filter(({ text }) => !faults.has(text));
  const lacks = [
    ...[...faults].map(([vip, fault]) => `${fault}: ${vip} ${FAULTS[fault]}.`),
    ...[...lacking].map(([family, lack]) => `${lack}: ${LACKS[lack]} ${family} address.`),
  ];
  if (own.length > 0) {
    const ips = `ClusterSetIP ${own.map(({ text }) => text).join(", ")}.`;
    return { ...HEADLESS_READY, message: [ips, ...lacks].join(" ") };
  }
  const found = new Set(faults.values().map((fault) => FAULT_REASONS[fault]));
  const fault = Object.values(FAULT_REASONS).find((reason) => found.has(reason));
  const supported = lacking.values().some((lack) => lack !== "range-missing");
  return {
    type: "Ready",
    status: "False",
    reason: fault ?? (supported ? "Pending" : "IPFamilyNotSupported"),
    message: lacks.join(" "),
  };
}

const WRITE_REJECTED = "WriteRejected";

/** Condition of an import of which something cannot be written. `message`: the API server's. */
export function rejectedClaim({ reason, message }: Rejected): Claim {
  const text = `${reason}: not all of this import can be written: ${message}`;
  return { type: HEADLESS_READY.type, status: "False", reason: WRITE_REJECTED, message: text };
}

/** True for a condition of `rejectedClaim`. */
export function saysRejected({ type, reason }: Pick<Condition, "reason" | "type">): boolean {
  return type === HEADLESS_READY.type && reason === WRITE_REJECTED;
}

/** An Event about what no condition can tell: it cannot be written either, or there is none. */
export function rejectedEvent({ reason, message }: Rejected, what: string): ConditionEvent {
  const text = `${reason}: ${what} cannot be written: ${message}`;
  return { level: "Warning", reason: WRITE_REJECTED, message: text };
}

/** The present condition `Ready` of an import that is not changed, with the reason. Empty if there is none. */
export function frozenClaims(seen: readonly Condition[], why: Reason = "not-heard"): Claim[] {
  const ready = seen.filter(({ type }) => type === HEADLESS_READY.type);
  return ready.map(({ type, status, reason, message }) => ({
    ...{ type, status, reason },
    message: withOmissions(withRotation(message), [why]),
  }));
}

const NO_ROOM = "too-much-memory" satisfies Reason;

/** Condition of an import that is not changed, because its namespace has its share of the controller's memory. */
export function noRoomClaims(seen: readonly Condition[]): Claim[] {
  const present = frozenClaims(seen, NO_ROOM);
  if (present.length > 0) return present;
  const message = `${NO_ROOM}: this namespace has its share of the controller's memory.`;
  return [{ type: HEADLESS_READY.type, status: "False", reason: "Pending", message }];
}

/** True for a condition of `noRoomClaims`. */
export function saysNoRoom({ type, message }: Pick<Condition, "message" | "type">): boolean {
  return type === HEADLESS_READY.type && message.includes(NO_ROOM);
}

const LACK = /^range-(exhausted|missing|share): /;
const FAULT = /(^|\. )(family-off|vip-(conflict|contested|not-allowed|reserved)): /;

/** True for a condition that `readyClaim` wrote for an import without a VIP, or with one that does not work. */
export function isLack({
  type,
  status,
  message,
}: Pick<Condition, "message" | "status" | "type">): boolean {
  if (type !== HEADLESS_READY.type) return false;
  return FAULT.test(message) || (status === "False" && LACK.test(message));
}

const WAITS = /(^|\. )range-(exhausted|share): /;

/** True for a claim of `readyClaim` for an import that gets another VIP, or that of one more family, once an address is free. */
export function waitsForVip({ message }: Claim): boolean {
  return FAULT.test(message) || WAITS.test(message);
}

const OMISSIONS = / Left out: ([a-z, -]+)\.$/;

/**
 * The message of a condition, with the reasons for which parts of the service are left out, besides those that it names
 * already. Values are not shown, because a user of one cluster need not see what another cluster publishes.
 */
export function withOmissions(message: string, omitted: readonly Reason[]): string {
  if (omitted.length === 0) return message;
  const named = OMISSIONS.exec(message)?.[1]?.split(", ") ?? [];
  const reasons = [...new Set([...named, ...omitted])].sort().join(", ");
  return `${message.replace(OMISSIONS, "")} Left out: ${reasons}.`;
}
